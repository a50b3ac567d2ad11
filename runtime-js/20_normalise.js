// Owns the one walk that turns a value of the program into JSON text, for the arguments of a call and
// for the result (CM-13, CM-14). Each property is read once; what is read is what is sent.
// It must never lose data in silence: what JSON cannot hold is refused with its path and a fix.
// Documented choices: boxed primitives are unwrapped, named properties of arrays and symbol keys are
// left out as in JSON, a `toJSON` counts only when it is the object's own or comes from a class (one
// put on Object.prototype or Array.prototype does not change what is dispatched).
(function () {
  "use strict";
  const rt = globalThis.__rt;
  const { ArrayIsArray, BigIntOf, DateGetTime, DatePrototype, DateToISOString, JSONIsRawJSON, JSONParse } = rt;
  const { JSONStringify, ObjectHasOwn, ObjectKeys, ObjectPrototype, ReflectApply, ReflectGetPrototypeOf } = rt;
  const { StringCharCodeAt, StringIsWellFormed, classNameOf, cut, isIdentifier, quote, unbox } = rt;
  const { classOf } = rt.native;
  // One under the nesting that the host's JSON reader accepts.
  const MAX_DEPTH = 127;
  const MIN_INTEGER = -(2n ** 63n), MAX_INTEGER = 2n ** 64n - 1n;
  const NOT_READ = { __proto__: null };
  // What each built-in is called, and what to hand over in its place.
  const FIXES = {
    __proto__: null,
    Map: ["a Map", "Object.fromEntries(map), or [...map] if its keys are not strings"],
    Set: ["a Set", "[...set]"],
    WeakMap: ["a WeakMap", "the values themselves"], WeakSet: ["a WeakSet", "the values themselves"],
    TypedArray: ["a typed array", "Array.from(bytes), or a string"],
    ArrayBuffer: ["an ArrayBuffer", "Array.from(new Uint8Array(buffer)), or a string"],
    DataView: ["a DataView", "the numbers read from it"],
    RegExp: ["a RegExp", "its source: regexp.source"],
    Error: ["an Error", "{name: error.name, message: error.message}"],
    Generator: ["a generator", "[...generator]"],
    MapIterator: ["an iterator", "[...iterator]"], SetIterator: ["an iterator", "[...iterator]"],
    Arguments: ["an arguments object", "[...arguments]"], Symbol: ["a boxed symbol", "a string"],
  };
  // `root` names the value in messages ("args", "result"); `verb` is what the program does with it.
  const walk = (root, verb, limit) => ({ root, verb, limit, size: 0, large: false, frame: null, problem: "" });

  const step = (key) => (typeof key === "number" ? `[${key}]`
    : isIdentifier(key) ? `.${key}` : `[${quote(cut(key, 60))}]`);
  function pathOf(st, frame) {
    let tail = "", count = 0;
    // Deep paths keep their first six steps and their last three.
    for (; frame !== null; frame = frame.parent) {
      if (++count <= 3 || frame.depth <= 6) tail = step(frame.key) + tail;
      else if (count === 4) tail = " ... " + tail;
    }
    return st.root + tail;
  }
  function fail(st, text) {
    st.problem = text;
    throw st;
  }
  const refuse = (st, what, fix) =>
    fail(st, `${pathOf(st, st.frame)} is ${what}, which JSON cannot hold; ${st.verb} ${fix}`);
  function grow(st, units) {
    st.size += units;
    if (st.size > st.limit) {
      st.large = true;
      fail(st, `${st.root} is over ${st.limit} bytes as JSON; ${st.verb} less, or split it`);
    }
  }
  function enter(st, object) {
    const parent = st.frame, depth = parent === null ? 1 : parent.depth + 1;
    for (let f = parent; f !== null; f = f.parent) {
      if (f.object === object) {
        fail(st, `${pathOf(st, parent)} is the same object as ${pathOf(st, f.parent)}: JSON cannot ` +
          `hold a cycle; leave it out, or ${st.verb} an id in its place`);
      }
    }
    if (depth > MAX_DEPTH) {
      fail(st, `${pathOf(st, parent)} is nested more than ${MAX_DEPTH} levels deep; ${st.verb} a flatter value`);
    }
    st.frame = { parent, object, depth, key: "" };
    return st.frame;
  }

  function string(st, text) {
    grow(st, text.length + 2);
    if (StringIsWellFormed(text)) return JSONStringify(text);
    return fail(st, `${pathOf(st, st.frame)} holds half of a surrogate pair; ${st.verb} text.toWellFormed()`);
  }
  function number(st, value) {
    grow(st, 1);
    if (value - value !== 0) return refuse(st, `${value}`, "null or leave it out");
    // From 2^53 the digits of a number are not all its own: without an exponent they would be taken for an integer's.
    return value >= 2 ** 53 || value <= -(2 ** 53) ? rt.NumberToExponential(value) : `${value}`;
  }
  function integer(st, value) {
    grow(st, 1);
    if (value >= MIN_INTEGER && value <= MAX_INTEGER) return `${value}`;
    return fail(st, `${pathOf(st, st.frame)} is an integer beyond 64 bits; ${st.verb} it as a string`);
  }
  const isDigits = (text) => {
    for (let i = StringCharCodeAt(text, 0) === 45 ? 1 : 0; i < text.length; i++) {
      const c = StringCharCodeAt(text, i);
      if (c < 48 || c > 57) return false;
    }
    return text.length > 0;
  };
  // The text of a value, or undefined for what JSON leaves out of an object.
  function write(st, value) {
    switch (typeof value) {
      case "string": return string(st, value);
      case "number": return number(st, value);
      case "boolean": grow(st, 5); return value ? "true" : "false";
      case "undefined": return undefined;
      case "bigint": return integer(st, value);
      case "function": return refuse(st, "a function", "what it gives when called, or leave it out");
      case "symbol": return refuse(st, "a symbol", "a string");
      default: return value === null ? "null" : object(st, value, true);
    }
  }
  function object(st, value, mayConvert) {
    const proto = ReflectGetPrototypeOf(value), isArray = ArrayIsArray(value);
    if (!isArray && proto !== ObjectPrototype && proto !== null) return special(st, value, mayConvert);
    if (proto === null && JSONIsRawJSON(value)) return raw(st, value.rawJSON);
    let toJSON = NOT_READ;
    if (mayConvert && ObjectHasOwn(value, "toJSON")) {
      toJSON = value.toJSON;
      if (typeof toJSON === "function") return convert(st, value, toJSON);
    }
    return isArray ? array(st, value) : plain(st, value, toJSON);
  }
  function plain(st, value, toJSON) {
    const keys = ObjectKeys(value);
    // The only built-ins that can have a plain prototype have no keys, or begin with "0".
    if (keys.length === 0 || keys[0] === "0") {
      const type = classOf(value);
      if (type !== "" && type !== "Proxy") return builtin(st, value, type);
    }
    const frame = enter(st, value);
    let text = "{";
    for (let i = 0; i < keys.length; i++) {
      const key = frame.key = keys[i];
      const member = key === "toJSON" && toJSON !== NOT_READ ? toJSON : value[key];
      // A toJSON still here belongs to an object that a toJSON has given: it is not asked again.
      if (key === "toJSON" && typeof member === "function") continue;
      const piece = write(st, member);
      if (piece === undefined) continue;
      if (!StringIsWellFormed(key)) {
        fail(st, `${pathOf(st, frame)}: the key holds half of a surrogate pair; ${st.verb} key.toWellFormed()`);
      }
      grow(st, key.length + 4);
      text += (text === "{" ? "" : ",") + JSONStringify(key) + ":" + piece;
    }
    st.frame = frame.parent;
    return text + "}";
  }
  function array(st, value) {
    const frame = enter(st, value), length = value.length;
    let text = "[";
    for (let i = 0; i < length; i++) {
      frame.key = i;
      let piece = write(st, value[i]);
      if (piece === undefined) {
        // In a result it becomes null as in JSON: the work of the run is not lost for it.
        if (st.root === "result" && ObjectHasOwn(value, i)) piece = "null";
        else refuse(st, ObjectHasOwn(value, i) ? "undefined" : "an empty slot of a sparse array", "null");
      }
      grow(st, 1);
      text += i === 0 ? piece : "," + piece;
    }
    st.frame = frame.parent;
    return text + "]";
  }
  function convert(st, value, toJSON) {
    const out = ReflectApply(toJSON, value, [st.frame === null ? "" : `${st.frame.key}`]);
    return typeof out === "object" && out !== null ? object(st, out, false) : write(st, out);
  }
  // Anything whose prototype is not plain: converted by its toJSON, unwrapped, or refused.
  function special(st, value, mayConvert) {
    const type = classOf(value);
    if (mayConvert) {
      let holder = value;
      for (let i = 0; i < 64 && holder !== null && holder !== ObjectPrototype; i++) {
        if (ObjectHasOwn(holder, "toJSON")) {
          if (holder === DatePrototype && type === "Date") break;
          const toJSON = value.toJSON;
          if (typeof toJSON === "function") return convert(st, value, toJSON);
          break;
        }
        holder = ReflectGetPrototypeOf(holder);
      }
    }
    return builtin(st, value, type);
  }
  function builtin(st, value, type) {
    if (type === "Promise") fail(st, `${pathOf(st, st.frame)} is a promise: await it first`);
    if (type === "Date") {
      if (DateGetTime(value) !== DateGetTime(value)) refuse(st, "an invalid Date", "a valid one or null");
      return string(st, DateToISOString(value));
    }
    const plain = unbox(type, value), known = FIXES[type];
    if (plain !== undefined && type !== "Symbol") return write(st, plain);
    if (known !== undefined) refuse(st, known[0], known[1]);
    const name = classNameOf(value);
    return refuse(st, name === "" || name === "Object" ? "an object that inherits from another one"
      : `an instance of ${name}`, "a plain object, such as {...it}");
  }
  function raw(st, text) {
    const value = JSONParse(text);
    if (typeof value === "number" && isDigits(text)) return integer(st, BigIntOf(text));
    return write(st, value);
  }

  rt.walk = walk;
  rt.isDigits = isDigits;
  // The JSON text, or undefined for an undefined root; `st.problem` is set where it was refused.
  rt.normalise = (st, value) => {
    try {
      return write(st, value);
    } catch (error) {
      if (error !== st) st.problem = `reading ${pathOf(st, st.frame)} threw ${rt.brief(error)}`;
      return undefined;
    }
  };
  // Returns ["json", text], ["none", ""], ["problem", what to return instead] or ["large", how large at least].
  rt.entry.finish = (value) => {
    const st = walk("result", "return", 64 * 1024 * 1024);
    const text = rt.normalise(st, value);
    if (st.large) return ["large", `${st.size}`];
    if (st.problem !== "") return ["problem", st.problem];
    return text === undefined ? ["none", ""] : ["json", text];
  };
  // JSON.stringify in the program keeps the digits of a BigInt (CM-15).
  const { BigIntToString, JSONRawJSON } = rt;
  rt.define(BigInt.prototype, "toJSON", { toJSON() { return JSONRawJSON(BigIntToString(this)); } }.toJSON);
})();
