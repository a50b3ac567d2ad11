// Owns the text form of any value, in the style of Node's util.inspect (CM-29), used by the console
// and by error reports.
// It must never run code of the program: no getter, proxy trap, toString or inspection hook. What it
// visits and writes is bounded, whatever the value.
(function () {
  "use strict";
  const rt = globalThis.__rt;
  const { ArrayIsArray, DateGetTime, DateToISOString, FunctionToString, ObjectHasOwn, ReflectApply, cut, list } = rt;
  const { ReflectGetOwnPropertyDescriptor, ReflectGetPrototypeOf, ReflectOwnKeys, StringCharCodeAt } = rt;
  const { StringIndexOf, StringLastIndexOf, StringSlice, StringStartsWith } = rt;
  const { SymbolToString, isIdentifier, replaceEach } = rt;
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
  // `read` fetches a property: `peek`, or one that may run a getter.
  function headerOf(error, read) {
    let name = read(error, "name");
    const message = read(error, "message");
    if (typeof name !== "string") name = "Error";
    if (name === "Error") name = classNameOf(error) || name;
    return { name, message: typeof message === "string" ? message : "" };
  }
  function errorHeader(error, read = peek) {
    const { name, message } = headerOf(error, read);
    return message === "" ? name : `${name}: ${message}`;
  }

  const HEX = "0123456789ABCDEF";
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
        : c === 92 ? "\\\\" : c === 39 ? "\\'" : `\\x${HEX[c >> 4]}${HEX[c & 15]}`);
      from = i + 1;
    }
    out = mark + out + StringSlice(text, from) + mark;
    return rest > 0 ? `${out}... ${rest} more characters` : out;
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
  const many = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
  const add = (form, text) => { form.items[form.items.length++] = text; };
  const more = (form, count, noun) => { if (count > 0) add(form, `... ${many(count, `more ${noun}`)}`); };

  function show(st, value, level, outer) {
    const text = typeof value === "string" ? quoted(value) : primitive(value);
    const out = text === undefined ? object(st, value, level, outer) : text;
    st.room -= text === undefined ? 8 : out.length;
    return out;
  }
  function object(st, value, level, outer) {
    const isTools = value === rt.globals.tools; // the one proxy that is ours
    if (isTools) value = rt.toolsTarget();
    const type = classOf(value), isFunction = typeof value === "function";
    if (type === "Proxy") return "[Proxy]";
    for (let f = outer; f !== null; f = f.parent) {
      if (f.object !== value) continue;
      if (f.ref === 0) f.ref = ++st.refs;
      return `[Circular *${f.ref}]`;
    }
    if (st.nodes-- <= 0 || st.room <= 0) return "[...]";
    const isArray = ArrayIsArray(value);
    const name = isTools ? "tools" : classNameOf(value) || (ReflectGetPrototypeOf(value) === null ? "" : "Object");
    if (level > st.depth && !isFunction && type !== "Error" && type !== "Date" && type !== "RegExp") {
      return `[${isArray ? "Array" : name || "Object: null prototype"}]`;
    }
    const ours = type === "" && !isFunction && !isArray ? rt.hostText(value) : undefined;
    if (ours !== undefined) return ours;
    const form = { base: "", prefix: "", open: "{", close: "}", items: list(), keys: true, wrap: false, tail: "" };
    const frame = { parent: outer, object: value, ref: 0 };
    const inner = (item) => show(st, item, level + 1, frame);
    if (isFunction) form.base = functionText(value);
    else if (isArray) arrayItems(value, name, form, inner);
    else if (type === "Error") errorItems(value, level > 0, form, inner);
    else contents(value, type, name, form, inner);
    if (form.keys && level <= st.depth) properties(st, value, form, inner);
    const text = layout(form) + form.tail;
    return frame.ref === 0 ? text : `<ref *${frame.ref}> ${text}`;
  }
  function functionText(value) {
    const desc = ReflectGetOwnPropertyDescriptor(value, "name"), proto = ReflectGetPrototypeOf(value);
    const own = desc !== undefined && ObjectHasOwn(desc, "value") ? desc.value : "";
    const name = typeof own === "string" ? cut(own, 200) : "";
    if (StringStartsWith(FunctionToString(value), "class")) {
      const parent = typeof proto === "function" ? peek(proto, "name") : "";
      const base = typeof parent === "string" && parent !== "" ? ` extends ${cut(parent, 200)}` : "";
      return `[class ${name || "(anonymous)"}${base}]`;
    }
    const kind = proto === rt.AsyncFunctionPrototype ? "AsyncFunction"
      : proto === rt.GeneratorFunctionPrototype ? "GeneratorFunction"
      : proto === rt.AsyncGeneratorFunctionPrototype ? "AsyncGeneratorFunction" : "Function";
    return name === "" ? `[${kind} (anonymous)]` : `[${kind}: ${name}]`;
  }
  function arrayItems(value, name, form, inner) {
    const length = value.length;
    form.open = "[", form.close = "]", form.wrap = true, form.keys = length <= 1000;
    if (name !== "Array") form.prefix = `${name || "[Array: null prototype]"}(${length}) `;
    let i = 0, holes = 0;
    for (; i < length && form.items.length < MAX_ITEMS && holes < MAX_NODES; i++) {
      const desc = ReflectGetOwnPropertyDescriptor(value, i);
      if (desc !== undefined && holes > 0) add(form, `<${many(holes, "empty item")}>`);
      holes = desc === undefined ? holes + 1 : 0;
      if (desc !== undefined) add(form, member(desc, inner));
    }
    if (holes > 0) add(form, `<${many(holes, "empty item")}>`);
    more(form, length - i, "item");
  }
  function member(desc, inner) {
    if (ObjectHasOwn(desc, "value")) return inner(desc.value);
    return desc.get === undefined ? "[Setter]" : desc.set === undefined ? "[Getter]" : "[Getter/Setter]";
  }
  // The message, with the stack where the error itself is printed; then what is not enumerable.
  function errorItems(error, isNested, form, inner) {
    const header = cut(errorHeader(error), 16384);
    form.base = isNested ? `[${header}]` : header + framesOf(stackOf(error));
    for (let i = 0; i < 2; i++) {
      const key = i === 0 ? "cause" : "errors", desc = ReflectGetOwnPropertyDescriptor(error, key);
      if (desc !== undefined && !desc.enumerable) add(form, `[${key}]: ${member(desc, inner)}`);
    }
  }
  function contents(value, type, name, form, inner) {
    if (name === "") form.prefix = `[${type || "Object"}: null prototype] `;
    else if (type !== "" || name !== "Object") form.prefix = `${name} `;
    switch (type) {
      case "": return undefined;
      case "Promise": {
        const state = promiseState(value);
        form.tail = NOT_AWAITED;
        return add(form, state === 0 ? "<pending>" : (state === 2 ? "<rejected> " : "") + inner(promiseResult(value)));
      }
      case "Map": case "Set": {
        const isMap = type === "Map", size = isMap ? rt.MapGetSize(value) : rt.SetGetSize(value);
        const all = isMap ? rt.MapEntries(value) : rt.SetValues(value);
        form.prefix = `${name || type}(${size}) `;
        for (let i = 0; i < size && i < MAX_ITEMS; i++) {
          const item = (isMap ? rt.MapIteratorNext : rt.SetIteratorNext)(all).value;
          add(form, isMap ? `${inner(item[0])} => ${inner(item[1])}` : inner(item));
        }
        return more(form, size - MAX_ITEMS, "item");
      }
      case "TypedArray": {
        const length = rt.TypedArrayGetLength(value);
        form.prefix = `${name || rt.TypedArrayGetTag(value)}(${length}) `;
        form.open = "[", form.close = "]", form.keys = false, form.wrap = true;
        for (let i = 0; i < length && i < MAX_ITEMS; i++) add(form, primitive(value[i]));
        return more(form, length - MAX_ITEMS, "item");
      }
      case "ArrayBuffer": return add(form, `byteLength: ${rt.ArrayBufferGetByteLength(value)}`);
      case "DataView": return add(form, `byteLength: ${rt.DataViewGetByteLength(value)}`);
      case "WeakMap": case "WeakSet": return add(form, "<contents unknown>");
      case "Arguments": return form.prefix = "[Arguments] ";
      case "Generator": return form.prefix = "Object [Generator] ";
      case "RegExp":
        form.base = `/${rt.RegExpGetSource(value)}/`;
        for (let i = 0; i < FLAGS.length; i += 2) if (rt[`RegExpGet${FLAGS[i]}`](value)) form.base += FLAGS[i + 1];
        return undefined;
      case "Date":
        return form.base = DateGetTime(value) === DateGetTime(value) ? DateToISOString(value) : "Invalid Date";
      case "String": case "Number": case "Boolean": case "BigInt": case "Symbol":
        form.keys = type !== "String"; // which has one for each character
        return form.base = `[${type}: ${inner(rt.unbox(type, value))}]`;
      default: return form.prefix = `[${type}] `; // iterators
    }
  }
  function properties(st, value, form, inner) {
    const keys = ReflectOwnKeys(value), before = form.items.length;
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i], desc = ReflectGetOwnPropertyDescriptor(value, key);
      if (form.open === "[" && typeof key === "string" && rt.isDigits(key)) continue;
      if (desc === undefined || !desc.enumerable) continue;
      if (form.items.length - before >= MAX_KEYS || st.room <= 0) return more(form, keys.length - i, "key");
      const label = typeof key === "symbol" ? `[${SymbolToString(key)}]` : isIdentifier(key) ? key : quoted(key);
      st.room -= label.length;
      add(form, `${label}: ${member(desc, inner)}`);
    }
    return undefined;
  }
  // One line where it fits, else one item a line; lists of short items fill their lines.
  function layout({ base, prefix, open, close, items, wrap }) {
    if (base !== "" && items.length === 0) return base;
    const head = (base === "" ? prefix : `${base} `) + open;
    if (items.length === 0) return head + close;
    let total = head.length + 2, longest = 0, broken = StringIndexOf(base, "\n") >= 0;
    for (let i = 0; i < items.length; i++) {
      total += items[i].length + 2;
      if (items[i].length > longest) longest = items[i].length;
      if (longest > WIDTH || StringIndexOf(items[i], "\n") >= 0) broken = true;
    }
    const oneLine = !broken && total <= WIDTH, filled = wrap && !broken && longest <= 28;
    let text = head, width = WIDTH;
    for (let i = 0; i < items.length; i++) {
      width += items[i].length + 2;
      const stay = oneLine || (filled && width <= WIDTH);
      if (!stay) width = items[i].length + 2;
      text += (stay ? " " : "\n  ") + replaceEach(items[i], "\n", "\n  ") + (i + 1 < items.length ? "," : "");
    }
    return text + (oneLine ? " " : "\n") + close;
  }

  function inspect(value, depth = MAX_DEPTH) {
    try {
      return show({ depth, nodes: MAX_NODES, room: MAX_TEXT, refs: 0 }, value, 0, null);
    } catch {
      return "[a value that cannot be shown]"; // a view past the end of its buffer, no stack left
    }
  }
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
  rt.headerOf = headerOf;
  rt.errorHeader = errorHeader;
  rt.classNameOf = classNameOf;
  rt.hostText = () => undefined;
  rt.entry.format = (value) => inspect(value);
})();
