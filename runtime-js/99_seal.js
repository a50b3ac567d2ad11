// Owns the shape of the global object: what a program can reach is the list below plus `__rt.globals`,
// nothing else (CM-9, E-9). Its value is the record of functions that Rust calls.
// It must be the last file: after it neither `__native` nor `__rt` can be reached.
(function () {
  "use strict";
  const rt = globalThis.__rt;
  const ECMASCRIPT = "AggregateError Array ArrayBuffer AsyncDisposableStack BigInt BigInt64Array BigUint64Array " +
    "Boolean DataView Date DisposableStack Error EvalError FinalizationRegistry Float16Array Float32Array " +
    "Float64Array Function Infinity Int16Array Int32Array Int8Array Intl Iterator JSON Map Math NaN Number Object " +
    "Promise Proxy RangeError ReferenceError Reflect RegExp Set String SuppressedError Symbol SyntaxError " +
    "TypeError URIError Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet decodeURI " +
    "decodeURIComponent encodeURI encodeURIComponent escape eval globalThis isFinite isNaN parseFloat parseInt " +
    "undefined unescape";
  const allowed = { __proto__: null };
  for (const name of ECMASCRIPT.split(" ")) allowed[name] = true;
  const { ReflectDeleteProperty, ReflectOwnKeys } = rt;
  // Run by `entry.begin`, since the engine adds globals after the snapshot, and looks for some of those
  // that must go (Atomics) while it does.
  rt.seal = () => {
    const keys = ReflectOwnKeys(globalThis);
    for (let i = 0; i < keys.length; i++) {
      if (allowed[keys[i]] !== true && !ReflectDeleteProperty(globalThis, keys[i])) {
        throw new rt.TypeError(`a global that is not allowed cannot be removed: ${rt.inspect(keys[i])}`);
      }
    }
  };
  delete Intl.v8BreakIterator; // not of the standard
  // ListFormat copies all texts past the heap, several times: it gets a list that has been measured.
  const { iterator } = Symbol, { prototype } = Intl.ListFormat, MAX_LISTED = 1024 * 1024;
  function measured(texts) {
    let list = rt.list(), size = 0, at = 0;
    for (const text of texts === undefined ? [] : texts) { // the program's own iterable
      size += 64 + (typeof text === "string" ? text.length : 0);
      if (size > MAX_LISTED) throw new rt.RangeError("the list is too long for Intl.ListFormat; join the texts");
      list[list.length++] = text;
    }
    const next = () => ({ __proto__: null, done: at >= list.length, value: list[at++] });
    return { __proto__: null, [iterator]: () => ({ __proto__: null, next }) };
  }
  for (const name of ["format", "formatToParts"]) {
    const own = rt.uncurry(prototype[name]);
    rt.define(prototype, name, { [name](texts) { return own(this, measured(texts)); } }[name]);
  }
  delete globalThis.__native;
  delete globalThis.__rt;
  for (const name of Object.keys(rt.globals)) {
    const value = rt.globals[name];
    rt.define(globalThis, name, value);
    allowed[name] = true;
    // Our classes and their prototypes cannot be changed; `console` may be replaced by a program, and
    // `tools` is read-only by itself.
    if (typeof value === "function") Object.freeze(value);
    if (typeof value === "function" && value.prototype) Object.freeze(value.prototype);
  }
  Object.freeze(rt.globals.crypto.subtle);
  Object.freeze(rt.globals.crypto);
  Object.freeze(rt.globals.performance);
  rt.hostText = (value) => rt.urlText(value) ?? rt.paramsText(value) ?? rt.signalText(value);
  return Object.freeze(rt.entry);
})();
