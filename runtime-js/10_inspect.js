// Owns the text form of any value, in the style of Node's util.inspect (CM-29), used by the console
// and by error reports.
// It must never run code of the program: no getter, proxy trap, toString or inspection hook. What it
// visits and writes is bounded, whatever the value.
(function () {
  "use strict";
  const rt = globalThis.__rt;
  const { ArrayIsArray, BigIntValueOf, BooleanValueOf, DateGetTime, DateToISOString, cut, list } = rt;
  const { FunctionToString, NumberValueOf, ObjectHasOwn, ObjectPrototype, ReflectApply, replaceEach } = rt;
  const { ReflectGetOwnPropertyDescriptor, ReflectGetPrototypeOf, ReflectOwnKeys, StringCharCodeAt } = rt;
  const { StringIndexOf, StringLastIndexOf, StringSlice, StringStartsWith, StringValueOf } = rt;
  const { SymbolToString, SymbolValueOf, Uint8Array, isIdentifier } = rt;
  const { classOf, promiseResult, promiseState } = rt.native;

  const MAX_DEPTH = 4, MAX_NODES = 10000, MAX_ITEMS = 100, MAX_KEYS = 200, MAX_STRING = 10000;
  const MAX_TEXT = 256 * 1024, WIDTH = 76, MAX_CHAIN = 32;
  const NOT_AWAITED = " (this promise was not awaited: write await before it)";
  const COMPARTMENT = "runtime-js/"; // script names of these files: their frames are not shown
  const FLAGS = ["HasIndices", "d", "Global", "g", "IgnoreCase", "i", "Multiline", "m", "DotAll", "s",
    "Unicode", "u", "UnicodeSets", "v", "Sticky", "y"];

  // The value of a data property, own or inherited; undefined for a getter or past a proxy.
  function peek(object, key) {
    for (let i = 0; i < MAX_CHAIN && object !== null && classOf(object) !== "Proxy"; i++) {
      const desc = ReflectGetOwnPropertyDescriptor(object, key);
      if (desc !== undefined) return ObjectHasOwn(desc, "value") ? desc.value : undefined;
      object = ReflectGetPrototypeOf(object);
    }
    return undefined;
  }
  // The name of the class of an object, "" for one without (a null prototype).
  function classNameOf(object) {
    const maker = peek(object, "constructor");
    if (typeof maker !== "function" || classOf(maker) === "Proxy") return "";
    const desc = ReflectGetOwnPropertyDescriptor(maker, "name");
    const name = desc !== undefined && ObjectHasOwn(desc, "value") ? desc.value : "";
    return typeof name === "string" ? cut(name, 100) : "";
  }
  function stackOf(error) {
    const desc = ReflectGetOwnPropertyDescriptor(error, "stack");
    let stack = "";
    try {
      if (desc === undefined) return stack;
      if (ObjectHasOwn(desc, "value")) stack = desc.value;
      else if (desc.get !== undefined && desc.get === rt.stackGetter) stack = ReflectApply(desc.get, error, []);
    } catch { /* the engine asks the error for its message when it makes the stack */ }
    return typeof stack === "string" ? stack : "";
  }
  // The lines of a stack that name frames of the program, each with a newline before it.
  function framesOf(stack) {
    let end = stack.length, out = "";
    while (end > 0) {
      const start = StringLastIndexOf(stack, "\n", end - 1) + 1;
      const line = StringSlice(stack, start, end);
      if (!StringStartsWith(line, "    at ")) break;
      if (StringIndexOf(line, COMPARTMENT) < 0) out = "\n" + line + out;
      end = start - 1;
    }
    return out;
  }
  function errorHeader(error) {
    let name = peek(error, "name");
    const message = peek(error, "message");
    if (typeof name !== "string") name = "Error";
    if (name === "Error") name = classNameOf(error) || name;
    return message === "" || typeof message !== "string" ? name : `${name}: ${message}`;
  }

  const HEX = "0123456789ABCDEF";
  const hex = (n) => HEX[n >> 4] + HEX[n & 15];
  function quoted(text) {
    const rest = text.length - MAX_STRING;
    if (rest > 0) text = cut(text, MAX_STRING);
    const mark = StringIndexOf(text, "'") < 0 ? "'" : StringIndexOf(text, '"') < 0 ? '"'
      : StringIndexOf(text, "`") < 0 ? "`" : "'";
    let out = "", from = 0;
    for (let i = 0; i < text.length; i++) {
      const c = StringCharCodeAt(text, i);
      if (c >= 32 && c !== 92 && c !== 39 && (c < 127 || c > 159)) continue;
      if (c === 39 && mark !== "'") continue;
      out += StringSlice(text, from, i) + (c === 10 ? "\\n" : c === 9 ? "\\t" : c === 13 ? "\\r"
        : c === 92 ? "\\\\" : c === 39 ? "\\'" : `\\x${hex(c)}`);
      from = i + 1;
    }
    out = mark + out + StringSlice(text, from) + mark;
    return rest > 0 ? `${out}... ${rest} more characters` : out;
  }

  function show(st, value, level, frame) {
    const text = typeof value === "string" ? quoted(value) : primitive(value);
    const out = text === undefined ? object(st, value, level, frame) : text;
    st.room -= text === undefined ? 8 : out.length;
    return out;
  }
  // The text of anything but strings and objects, for which it is undefined.
  function primitive(value) {
    switch (typeof value) {
      case "number": return value === 0 && 1 / value < 0 ? "-0" : `${value}`;
      case "bigint": return `${value}n`;
      case "boolean": case "undefined": return `${value}`;
      case "symbol": return SymbolToString(value);
      default: return value === null ? "null" : undefined;
    }
  }
  const add = (items, text) => { items[items.length++] = text; };

  function object(st, value, level, outer) {
    const isTools = value === rt.globals.tools; // the one proxy that is ours
    if (isTools) value = rt.toolsTarget();
    const type = classOf(value);
    if (type === "Proxy") return "[Proxy]";
    for (let f = outer; f !== null; f = f.parent) {
      if (f.object === value) {
        if (f.ref === 0) f.ref = ++st.refs;
        return `[Circular *${f.ref}]`;
      }
    }
    if (st.nodes-- <= 0 || st.room <= 0) return "[...]";
    const form = { base: "", prefix: "", open: "{", close: "}", keys: true, wrap: false, tail: "" };
    const items = list(), frame = { parent: outer, object: value, ref: 0 };
    const name = isTools ? "tools" : classNameOf(value) || (ReflectGetPrototypeOf(value) === null ? "" : "Object");
    if (level > st.depth && type !== "Error" && type !== "Date" && type !== "RegExp" && typeof value === "object") {
      return `[${ArrayIsArray(value) ? "Array" : name || "Object: null prototype"}]`;
    }
    const ours = type === "" && typeof value === "object" && !ArrayIsArray(value) ? rt.hostText(value) : undefined;
    if (ours !== undefined) return ours;
    if (typeof value === "function") form.base = functionText(value, name);
    else if (ArrayIsArray(value)) arrayItems(st, value, level, frame, form, items, name);
    else fill(st, value, type, name, level, frame, form, items);
    if (form.keys) properties(st, value, level, frame, items, form.open === "[");
    const text = layout(form, items) + form.tail;
    return frame.ref === 0 ? text : `<ref *${frame.ref}> ${text}`;
  }
  function functionText(value, kind) {
    const desc = ReflectGetOwnPropertyDescriptor(value, "name");
    const name = desc !== undefined && ObjectHasOwn(desc, "value") && typeof desc.value === "string"
      ? cut(desc.value, 200) : "";
    const proto = ReflectGetPrototypeOf(value);
    if (StringStartsWith(StringSlice(FunctionToString(value), 0, 6), "class")) {
      const parent = typeof proto === "function" && classOf(proto) !== "Proxy" ? peek(proto, "name") : "";
      return `[class ${name || "(anonymous)"}${typeof parent === "string" && parent !== "" ? ` extends ${parent}` : ""}]`;
    }
    kind = proto === rt.AsyncFunctionPrototype ? "AsyncFunction"
      : proto === rt.GeneratorFunctionPrototype ? "GeneratorFunction"
      : proto === rt.AsyncGeneratorFunctionPrototype ? "AsyncGeneratorFunction" : "Function";
    return name === "" ? `[${kind} (anonymous)]` : `[${kind}: ${name}]`;
  }
  function more(items, count, noun) {
    if (count > 0) add(items, `... ${count} more ${noun}${count === 1 ? "" : "s"}`);
  }
  function arrayItems(st, value, level, frame, form, items, name) {
    const length = value.length;
    form.open = "[", form.close = "]", form.wrap = true;
    if (name !== "Array") form.prefix = `${name || "[Array: null prototype]"}(${length}) `;
    form.keys = length <= 1000;
    let i = 0, holes = 0;
    for (; i < length && items.length < MAX_ITEMS && holes < MAX_NODES; i++) {
      const desc = ReflectGetOwnPropertyDescriptor(value, i);
      if (desc === undefined) { holes++; continue; }
      if (holes > 0) add(items, `<${holes} empty item${holes === 1 ? "" : "s"}>`);
      holes = 0;
      add(items, member(st, desc, level, frame));
    }
    if (holes > 0 && i < length) { holes += length - i; i = length; }
    if (holes > 0) add(items, `<${holes} empty item${holes === 1 ? "" : "s"}>`);
    more(items, length - i, "item");
  }
  function member(st, desc, level, frame) {
    if (ObjectHasOwn(desc, "value")) return show(st, desc.value, level + 1, frame);
    return desc.get === undefined ? "[Setter]" : desc.set === undefined ? "[Getter]" : "[Getter/Setter]";
  }
  function fill(st, value, type, name, level, frame, form, items) {
    const prefix = name === "" ? `[${type || "Object"}: null prototype] ` : `${name} `;
    form.prefix = type === "" && name === "Object" ? "" : prefix;
    switch (type) {
      case "": return;
      case "Error": return errorItems(st, value, level, frame, form, items);
      case "Promise": {
        const state = promiseState(value);
        form.tail = NOT_AWAITED;
        add(items, state === 0 ? "<pending>"
          : (state === 2 ? "<rejected> " : "") + show(st, promiseResult(value), level + 1, frame));
        return;
      }
      case "Map": case "Set": {
        const isMap = type === "Map", size = isMap ? rt.MapGetSize(value) : rt.SetGetSize(value);
        const all = isMap ? rt.MapEntries(value) : rt.SetValues(value);
        form.prefix = `${name || type}(${size}) `;
        for (let i = 0; i < size && i < MAX_ITEMS; i++) {
          const item = (isMap ? rt.MapIteratorNext : rt.SetIteratorNext)(all).value;
          add(items, isMap ? `${show(st, item[0], level + 1, frame)} => ${show(st, item[1], level + 1, frame)}`
            : show(st, item, level + 1, frame));
        }
        return more(items, size - MAX_ITEMS, "item");
      }
      case "TypedArray": {
        const length = rt.TypedArrayGetLength(value);
        form.prefix = `${name || rt.TypedArrayGetTag(value)}(${length}) `;
        form.open = "[", form.close = "]", form.keys = false, form.wrap = true;
        for (let i = 0; i < length && i < MAX_ITEMS; i++) add(items, primitive(value[i]));
        return more(items, length - MAX_ITEMS, "item");
      }
      case "ArrayBuffer": {
        const length = rt.ArrayBufferGetByteLength(value);
        const bytes = length > 0 ? new Uint8Array(value, 0, length) : null; // a detached one has 0
        let text = "";
        for (let i = 0; i < length && i < 32; i++) text += (i === 0 ? "" : " ") + hex(bytes[i]);
        add(items, `<${text}${length > 32 ? ` ... ${length - 32} more bytes` : ""}>`);
        add(items, `byteLength: ${length}`);
        return;
      }
      case "DataView": add(items, `byteLength: ${rt.DataViewGetByteLength(value)}`); return;
      case "Date":
        form.base = DateGetTime(value) === DateGetTime(value) ? DateToISOString(value) : "Invalid Date";
        return;
      case "RegExp":
        form.base = `/${rt.RegExpGetSource(value)}/`;
        for (let i = 0; i < FLAGS.length; i += 2) {
          if (rt[`RegExpGet${FLAGS[i]}`](value)) form.base += FLAGS[i + 1];
        }
        return;
      case "Number": form.base = `[Number: ${primitive(NumberValueOf(value))}]`; return;
      case "Boolean": form.base = `[Boolean: ${BooleanValueOf(value)}]`; return;
      case "BigInt": form.base = `[BigInt: ${BigIntValueOf(value)}n]`; return;
      case "Symbol": form.base = `[Symbol: ${SymbolToString(SymbolValueOf(value))}]`; return;
      case "String": form.base = `[String: ${quoted(StringValueOf(value))}]`; form.keys = false; return;
      case "Arguments": form.prefix = "[Arguments] "; return;
      case "WeakMap": case "WeakSet": add(items, "<items unknown>"); return;
      case "WeakRef": add(items, "<target unknown>"); return;
      case "Generator": form.prefix = "Object [Generator] "; return;
      default: form.prefix = `[${type}] `; // iterators
    }
  }
  function errorItems(st, error, level, frame, form, items) {
    const header = cut(errorHeader(error), 16384);
    form.prefix = "";
    form.base = level > 0 ? `[${header}]` : header + framesOf(stackOf(error));
    if (level > st.depth) { form.keys = false; return; }
    const hidden = ["cause", "errors"];
    for (let i = 0; i < 2; i++) {
      const desc = ReflectGetOwnPropertyDescriptor(error, hidden[i]);
      if (desc !== undefined && !desc.enumerable) add(items, `[${hidden[i]}]: ${member(st, desc, level, frame)}`);
    }
  }
  function properties(st, value, level, frame, items, isList) {
    const keys = ReflectOwnKeys(value), before = items.length;
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i];
      if (isList && typeof key === "string" && rt.isDigits(key)) continue;
      const desc = ReflectGetOwnPropertyDescriptor(value, key);
      if (desc === undefined || !desc.enumerable) continue;
      if (items.length - before >= MAX_KEYS || st.room <= 0) return more(items, keys.length - i, "key");
      const label = typeof key === "symbol" ? `[${SymbolToString(key)}]` : isIdentifier(key) ? key : quoted(key);
      st.room -= label.length;
      add(items, `${label}: ${member(st, desc, level, frame)}`);
    }
  }
  // One line where it fits, else one item a line; lists of short items fill their lines.
  function layout(form, items) {
    const { base, open, close } = form;
    if (base !== "" && items.length === 0) return base;
    const head = (base === "" ? form.prefix : `${base} `) + open;
    if (items.length === 0) return head + close;
    let total = head.length + 2, longest = 0, broken = StringIndexOf(base, "\n") >= 0;
    for (let i = 0; i < items.length; i++) {
      total += items[i].length + 2;
      if (items[i].length > longest) longest = items[i].length;
      if (longest > WIDTH || StringIndexOf(items[i], "\n") >= 0) broken = true;
    }
    const oneLine = !broken && total <= WIDTH, filled = form.wrap && !broken && longest <= 28;
    let text = head + (oneLine ? " " : "\n  "), width = 0;
    for (let i = 0; i < items.length; i++) {
      const comma = i + 1 < items.length ? "," : "";
      const item = oneLine || !broken ? items[i] : replaceEach(items[i], "\n", "\n  ");
      if (i > 0) {
        const stay = oneLine || (filled && width + item.length + 2 <= WIDTH);
        text += stay ? " " : "\n  ";
        if (!stay) width = 0;
      }
      width += item.length + 2;
      text += item + comma;
    }
    return text + (oneLine ? " " : "\n") + close;
  }

  const inspect = (value, depth = MAX_DEPTH) =>
    show({ depth, nodes: MAX_NODES, room: MAX_TEXT, refs: 0 }, value, 0, null);
  // One directive of a format string, as in Node; undefined for an unknown one.
  function directive(code, value) {
    const isNumeric = !rt.isObject(value) && typeof value !== "symbol";
    switch (code) {
      case "s": return typeof value === "string" ? value
        : rt.isObject(value) && classOf(value) === "Error" ? errorHeader(value) : inspect(value, 0);
      case "d": case "i": case "f":
        if (typeof value === "bigint") return `${value}n`;
        return !isNumeric ? "NaN" : primitive(code === "d" ? +value
          : code === "i" ? rt.parseInt(`${value}`, 10) : rt.parseFloat(`${value}`));
      case "j": try { return `${rt.JSONStringify(value)}`; } catch { return "[Circular]"; }
      case "o": case "O": return inspect(value);
      case "c": return "";
      default: return undefined;
    }
  }
  // What console.log writes for its arguments.
  rt.format = (args) => {
    const first = args.length > 0 ? args[0] : "";
    let out = "", next = 0;
    if (typeof first === "string") {
      let from = 0;
      next = 1;
      for (let at = 0; args.length > 1 && (at = StringIndexOf(first, "%", at)) >= 0 && at + 1 < first.length; at += 2) {
        const code = first[at + 1];
        if (code !== "%" && next >= args.length) continue;
        const put = code === "%" ? "%" : directive(code, args[next]);
        if (put === undefined) continue;
        if (code !== "%") next++;
        out += StringSlice(first, from, at) + put;
        from = at + 2;
      }
      out += StringSlice(first, from);
    }
    for (let i = next; i < args.length; i++) {
      out += (i === 0 ? "" : " ") + (typeof args[i] === "string" ? args[i] : inspect(args[i]));
      if (out.length > MAX_TEXT) break;
    }
    return out.length > MAX_TEXT ? `${cut(out, MAX_TEXT)} ... (line cut at 256 KiB)` : out;
  };
  rt.inspect = inspect;
  rt.peek = peek;
  rt.stackOf = stackOf;
  rt.framesOf = framesOf;
  rt.errorHeader = errorHeader;
  rt.classNameOf = classNameOf;
  rt.hostText = () => undefined;
  rt.entry.format = (value) => inspect(value);
})();
