// Owns the global `tools` (CM-10) and the promises of the calls in flight: it checks and reads the
// arguments, hands them to the driver lane, and settles each call with what the lane answers.
// It must never decide whether a call may run: the host validates everything again.
(function () {
  "use strict";
  const rt = globalThis.__rt;
  const { ArrayIsArray, ArrayPrototype, BigIntOf, ErrorCaptureStackTrace, JSONParse, ObjectFreeze } = rt;
  const { ObjectHasOwn, ObjectPrototype, Promise, Proxy, ReflectDeleteProperty, ReflectGetPrototypeOf } = rt;
  const { cut, define, isIdentifier, normalise, own, quote, typeError, walk } = rt;
  const { nearest, submit } = rt.native;

  let list = []; // of {name, call}, as the host gave it
  const functions = rt.list(); // by index in the list
  const indexes = { __proto__: null }, hidden = { __proto__: null }; // by name
  let maxArgBytes = 1024 * 1024;
  const pending = { __proto__: null }; // number of the call -> its resolvers and call site
  // ---- calling ----
  const isOne = (args) => typeof args === "object" && args !== null && !ArrayIsArray(args);
  function wrongArguments({ name, call }, given) {
    const first = given[0], others = given.length > 1 ? ` and ${given.length - 1} more` : "";
    if (name === "then" && typeof first === "function") {
      return `tools is not a promise: await one call, for example ${call}`;
    }
    const kind = first === null ? "null" : isOne(first) ? "an object"
      : typeof first === "object" ? "an array" : `a ${typeof first}`;
    return `arguments are one object: ${call} (given ${kind}${others})`;
  }
  function makeTool(index) {
    const tool = list[index];
    const call = (...given) => {
      const args = given.length === 0 ? undefined : given[0];
      let text = "{}";
      if (given.length > 1 || (args !== undefined && !isOne(args))) throw typeError(wrongArguments(tool, given), call);
      if (args !== undefined) {
        const st = walk("args", "pass", maxArgBytes);
        text = normalise(st, args);
        if (st.problem !== "") throw typeError(st.problem, call);
        // A toJSON or a boxed value may have made something else of it.
        if (text === undefined || text[0] !== "{") throw typeError(`arguments are one object: ${tool.call}`, call);
      }
      const entry = { resolve: undefined, reject: undefined, site: { __proto__: null } };
      // Kept unformatted; only a call that fails pays for its stack.
      ErrorCaptureStackTrace(entry.site, call);
      const promise = new Promise((resolve, reject) => { entry.resolve = resolve; entry.reject = reject; });
      pending[submit(index, text)] = entry;
      return promise;
    };
    define(call, "name", tool.name);
    return ObjectFreeze(call);
  }
  const toolAt = (index) => functions[index] ?? (functions[index] = makeTool(index));
  // ---- settling ----
  // An integer that a number would round arrives as a BigInt (CM-15).
  const revive = (key, value, context) => (typeof value === "number" && (value >= 2 ** 53 || value <= -(2 ** 53))
    && rt.isDigits(context.source) ? BigIntOf(context.source) : value);
  const parse = rt.parse = (json, hasBig) => (hasBig ? JSONParse(json, revive) : JSONParse(json));
  // Resolving looks for `then` on the value. JSON holds no functions, but a program may have put one
  // on a prototype; an own `then` for the moment of resolving keeps that from swallowing the result.
  function resolveWith(resolve, value) {
    const exposed = typeof value === "object" && value !== null && !ObjectHasOwn(value, "then")
      && (ObjectHasOwn(ObjectPrototype, "then") || (ArrayIsArray(value)
        && (ObjectHasOwn(ArrayPrototype, "then") || ReflectGetPrototypeOf(ArrayPrototype) !== ObjectPrototype)));
    if (exposed) define(value, "then", undefined);
    resolve(value);
    if (exposed) ReflectDeleteProperty(value, "then");
  }
  rt.entry.settle = (n, ok, json, hasBig) => {
    const entry = pending[n];
    if (entry === undefined) return;
    delete pending[n];
    const value = parse(json, hasBig);
    if (ok) return resolveWith(entry.resolve, value);
    entry.reject(rt.toolCallError(own(value, "tool"), own(value, "code"), own(value, "message"),
      own(value, "details"), entry.site));
  };
  // ---- names that are not there ----
  const spell = (name) => (isIdentifier(name) ? `tools.${name}` : `tools[${quote(cut(name, 80))}]`);
  function missing(name) {
    if (hidden[name] === true) return `${spell(name)} exists but is not visible to this program`;
    const best = nearest(cut(name, 100)); // up to three names, best first
    let text = `there is no tool ${quote(cut(name, 80))}`;
    for (let i = 0; i < best.length; i++) {
      text += (i === 0 ? "; did you mean " : i + 1 === best.length ? " or " : ", ") + spell(best[i]);
    }
    if (best.length > 0) return `${text}?`;
    if (list.length === 0) return `${text}; this program has no tools`;
    for (let i = 0; i < list.length && i < 10; i++) text += (i === 0 ? "; there are " : ", ") + spell(list[i].name);
    return text + (list.length > 10 ? ` and ${list.length - 10} more` : "");
  }
  // ---- the object ----
  const target = { __proto__: null };
  let filled = false;
  // The functions are made when they are first used, all of them when the object is looked at.
  function fill() {
    if (!filled) {
      filled = true;
      for (let i = 0; i < list.length; i++) define(target, list[i].name, toolAt(i), true);
      ObjectFreeze(target);
    }
    return target;
  }
  // What engines, libraries and printers look for on any object: absent here unless a tool has it.
  const PROBES = { __proto__: null, then: true, toJSON: true, constructor: true, toString: true,
    valueOf: true, inspect: true, prototype: true, ["__proto__"]: true };
  const refuse = (what) => { throw new rt.TypeError(`tools is read-only: ${what}`); };
  const handler = {
    __proto__: null,
    get: (_, key) => {
      if (typeof key === "symbol") return undefined;
      const index = indexes[key];
      if (index !== undefined) return toolAt(index);
      if (PROBES[key] === true) return undefined;
      const absent = () => { throw typeError(missing(key), absent); };
      return absent;
    },
    has: (_, key) => typeof key === "string" && indexes[key] !== undefined,
    ownKeys: () => rt.ReflectOwnKeys(fill()),
    getOwnPropertyDescriptor: (_, key) => rt.ReflectGetOwnPropertyDescriptor(fill(), key),
    isExtensible: () => { fill(); return false; },
    preventExtensions: () => { fill(); return true; },
    set: (_, key) => refuse(`${typeof key === "string" ? spell(key) : "a symbol"} cannot be set`),
    defineProperty: () => refuse("nothing can be defined on it"),
    deleteProperty: () => refuse("no tool can be deleted"),
    setPrototypeOf: () => refuse("its prototype stays null"),
  };
  rt.toolsTarget = fill;
  rt.globals.tools = new Proxy(target, handler);

  rt.entry.begin = (toolsJson) => {
    rt.seal();
    const options = JSONParse(toolsJson), out = own(options, "hidden") ?? [];
    list = own(options, "tools") ?? list;
    for (let i = 0; i < list.length; i++) {
      indexes[list[i].name] = i;
      list[i].call ??= `await ${spell(list[i].name)}({...})`;
    }
    for (let i = 0; i < out.length; i++) hidden[out[i]] = true;
    maxArgBytes = own(options, "maxArgBytes") ?? maxArgBytes;
  };
})();
