// Owns the global `tools` (CM-10) and the promises of the calls in flight: it checks and reads the
// arguments, hands them to the driver lane, and settles each call with what the lane answers.
// It must never decide whether a call may run: the host validates everything again.
(function () {
  "use strict";
  const rt = globalThis.__rt;
  const { ArrayIsArray, ArrayPrototype, BigIntOf, ErrorCaptureStackTrace, JSONParse, ObjectFreeze } = rt;
  const { ObjectHasOwn, ObjectPrototype, Promise, Proxy, ReflectDeleteProperty, ReflectGetPrototypeOf } = rt;
  const { StringCharCodeAt, StringIndexOf, StringSlice, StringToLowerCase, cut, define, isIdentifier } = rt;
  const { normalise, own, quote, typeError, walk } = rt;
  const { submit } = rt.native;
  const MAX_SAFE = 9007199254740991;

  const names = rt.list(), calls = rt.list(), functions = rt.list(); // by tool index
  const indexes = { __proto__: null }, hidden = { __proto__: null }; // by name
  let maxArgBytes = 1024 * 1024;
  const pending = { __proto__: null }; // number of the call -> its resolvers and call site

  // ---- calling ----
  function kindOf(value) {
    if (value === null) return "null";
    if (typeof value === "object") return "an array";
    return `a ${typeof value}`;
  }
  function wrongArguments(index, given) {
    if (names[index] === "then" && given.length === 2 && typeof given[0] === "function") {
      return `tools is not a promise: await one call, for example ${calls[index]}`;
    }
    const first = given[0], others = given.length - 1;
    const isOne = typeof first === "object" && first !== null && !ArrayIsArray(first);
    const what = isOne ? `an object and ${others} more` : kindOf(first) + (others > 0 ? ` and ${others} more` : "");
    return `arguments are one object: ${calls[index]} (given ${what})`;
  }
  function makeTool(index) {
    const call = (...given) => {
      const args = given.length === 0 ? undefined : given[0];
      let text = "{}";
      if (given.length > 1 || (args !== undefined
        && (typeof args !== "object" || args === null || ArrayIsArray(args)))) {
        throw typeError(wrongArguments(index, given), call);
      }
      if (args !== undefined) {
        const st = walk("args", "pass", maxArgBytes);
        text = normalise(st, args);
        if (st.problem !== "") throw typeError(st.problem, call);
        // A toJSON or a boxed value may have made something else of it.
        if (text === undefined || StringCharCodeAt(text, 0) !== 123) {
          throw typeError(`arguments are one object: ${calls[index]}`, call);
        }
      }
      const entry = { resolve: undefined, reject: undefined, site: { __proto__: null } };
      // Kept unformatted; only a call that fails pays for its stack.
      ErrorCaptureStackTrace(entry.site, call);
      const promise = new Promise((resolve, reject) => { entry.resolve = resolve; entry.reject = reject; });
      pending[submit(index, text)] = entry;
      return promise;
    };
    define(call, "name", names[index]);
    return ObjectFreeze(call);
  }
  const toolAt = (index) => functions[index] ?? (functions[index] = makeTool(index));

  // ---- settling ----
  // An integer that a number would round arrives as a BigInt (CM-15).
  const revive = (key, value, context) => (typeof value === "number" && (value > MAX_SAFE || value < -MAX_SAFE)
    && rt.isDigits(context.source) ? BigIntOf(context.source) : value);
  const parse = (json, hasBig) => (hasBig ? JSONParse(json, revive) : JSONParse(json));
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
  // Lower case without separators, short enough for the distance below.
  function plainName(name) {
    const lower = StringToLowerCase(cut(name, 64));
    let out = "";
    for (let i = 0; i < lower.length; i++) {
      const c = StringCharCodeAt(lower, i);
      if (c !== 95 && c !== 45 && c !== 46 && c !== 32 && c !== 47) out += lower[i];
    }
    return out;
  }
  // Edit distance, or `max` + 1 as soon as it must be larger.
  function distance(a, b, max) {
    if (a.length - b.length > max || b.length - a.length > max) return max + 1;
    let row = { __proto__: null };
    for (let j = 0; j <= b.length; j++) row[j] = j;
    for (let i = 1; i <= a.length; i++) {
      let diagonal = row[0], best = row[0] = i;
      for (let j = 1; j <= b.length; j++) {
        const swap = diagonal + (StringCharCodeAt(a, i - 1) === StringCharCodeAt(b, j - 1) ? 0 : 1);
        diagonal = row[j];
        const step = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);
        row[j] = swap < step ? swap : step;
        if (row[j] < best) best = row[j];
      }
      if (best > max) return max + 1;
    }
    return row[b.length];
  }
  function nearest(name) {
    const wanted = plainName(name), max = wanted.length < 6 ? 2 : 3;
    const best = rt.list(); // up to three of {score, index}, best first
    for (let index = 0; index < names.length && wanted !== ""; index++) {
      const have = plainName(names[index]);
      let score = have === wanted ? 0 : distance(have, wanted, max);
      if (score > max) {
        const inside = StringIndexOf(have, wanted) >= 0 || (have.length > 2 && StringIndexOf(wanted, have) >= 0);
        if (!inside) continue;
        score = max + 1;
      } else if (score >= have.length) continue;
      let at = best.length < 3 ? best.length++ : 3;
      for (; at > 0 && best[at - 1].score > score; at--) if (at < 3) best[at] = best[at - 1];
      if (at < 3) best[at] = { score, index };
    }
    return best;
  }
  function missing(name) {
    const said = spell(name);
    if (hidden[name] === true) return `${said} exists but is not visible to this program`;
    const found = nearest(name);
    let text = `there is no tool ${quote(cut(name, 80))}`;
    for (let i = 0; i < found.length; i++) {
      text += (i === 0 ? "; did you mean " : i + 1 === found.length ? " or " : ", ") + spell(names[found[i].index]);
    }
    if (found.length > 0) return `${text}?`;
    if (names.length === 0) return `${text}; this program has no tools`;
    for (let i = 0; i < names.length && i < 10; i++) text += (i === 0 ? "; there are " : ", ") + spell(names[i]);
    return text + (names.length > 10 ? ` and ${names.length - 10} more` : "");
  }

  // ---- the object ----
  const target = { __proto__: null };
  let filled = false;
  // The functions are made when they are first used, all of them when the object is looked at.
  function fill() {
    if (!filled) {
      filled = true;
      for (let i = 0; i < names.length; i++) define(target, names[i], toolAt(i), true);
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
    const options = JSONParse(toolsJson), list = own(options, "tools"), out = own(options, "hidden");
    for (let i = 0; list !== undefined && i < list.length; i++) {
      const name = own(list[i], "name"), call = own(list[i], "call");
      names[i] = name;
      calls[i] = call ?? `await ${spell(name)}({...})`;
      indexes[name] = i;
    }
    names.length = list === undefined ? 0 : list.length;
    for (let i = 0; out !== undefined && i < out.length; i++) hidden[out[i]] = true;
    maxArgBytes = own(options, "maxArgBytes") ?? maxArgBytes;
  };
})();
