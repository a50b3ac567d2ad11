// Owns `__rt`, the record of intrinsics and small helpers that every later file works with. It is
// filled before any program runs, so that nothing a program patches is ever consulted.
// Rules for all files, in code that can run after loading: no method call on a value that a program
// can reach, no spread, destructuring or for-of over arrays, no assignment to a missing array index,
// no property descriptor that inherits, no read of a field that may be absent from an own literal.
// It must never read the clock or randomness: everything here goes into the start-up snapshot.
(function () {
  "use strict";
  const uncurry = Function.prototype.bind.bind(Function.prototype.call);
  const rt = { __proto__: null, uncurry };
  const TypedArray = Object.getPrototypeOf(Uint8Array);
  // Methods and getters, as functions that take the receiver first: `StringSlice(text, 0, 3)`.
  const methods = {
    BigInt: "toString valueOf", Boolean: "valueOf", Date: "getTime toISOString",
    Function: "toString", Map: "entries", Number: "toExponential toString valueOf", Set: "values",
    String: "charCodeAt endsWith indexOf isWellFormed lastIndexOf repeat slice startsWith toUpperCase " +
      "toWellFormed valueOf",
    Symbol: "toString valueOf",
  };
  const getters = {
    ArrayBuffer: "byteLength", DataView: "buffer byteLength byteOffset", Map: "size", Set: "size",
    RegExp: "source hasIndices global ignoreCase multiline dotAll unicode unicodeSets sticky",
  };
  const title = (name) => name[0].toUpperCase() + name.slice(1);
  const getter = (proto, name) => uncurry(Object.getOwnPropertyDescriptor(proto, name).get);
  for (const type of Object.keys(methods)) {
    for (const name of methods[type].split(" ")) rt[type + title(name)] = uncurry(globalThis[type].prototype[name]);
  }
  for (const type of Object.keys(getters)) {
    for (const name of getters[type].split(" ")) {
      rt[`${type}Get${title(name)}`] = getter(globalThis[type].prototype, name);
    }
  }
  for (const name of ["buffer", "byteLength", "byteOffset", "length", Symbol.toStringTag]) {
    const label = typeof name === "symbol" ? "Tag" : title(name);
    rt[`TypedArrayGet${label}`] = getter(TypedArray.prototype, name);
  }
  rt.MapIteratorNext = uncurry(Object.getPrototypeOf(new Map().entries()).next);
  rt.SetIteratorNext = uncurry(Object.getPrototypeOf(new Set().values()).next);
  // Statics, constructors and prototypes.
  const statics = {
    Array: "isArray", Error: "captureStackTrace", JSON: "isRawJSON parse rawJSON stringify",
    Object: "freeze hasOwn keys",
    Reflect: "apply construct defineProperty deleteProperty get getOwnPropertyDescriptor getPrototypeOf ownKeys",
  };
  for (const type of Object.keys(statics)) {
    for (const name of statics[type].split(" ")) rt[type + title(name)] = globalThis[type][name];
  }
  for (const name of ["Error", "Promise", "Proxy", "RangeError", "TypeError", "Uint8Array", "parseFloat", "parseInt"]) {
    rt[name] = globalThis[name];
  }
  rt.BigIntOf = BigInt;
  rt.ObjectPrototype = Object.prototype;
  rt.ArrayPrototype = Array.prototype;
  rt.DatePrototype = Date.prototype;
  rt.AsyncFunctionPrototype = Object.getPrototypeOf(async function () {});
  rt.GeneratorFunctionPrototype = Object.getPrototypeOf(function* () {});
  rt.AsyncGeneratorFunctionPrototype = Object.getPrototypeOf(async function* () {});
  const stack = Object.getOwnPropertyDescriptor(new Error(), "stack");
  rt.stackGetter = stack.get; // undefined where the engine keeps `stack` as plain data

  const { ObjectHasOwn, ReflectDefineProperty, StringIndexOf, StringSlice, StringCharCodeAt } = rt;
  const { JSONStringify, StringToWellFormed } = rt;
  rt.native = globalThis.__native;
  rt.entry = { __proto__: null }; // what Rust calls
  rt.globals = { __proto__: null }; // what 99_seal.js installs on the global object

  rt.isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";
  // A field of an object made by JSON.parse or a descriptor, never of its prototype.
  rt.own = (object, key) => (ObjectHasOwn(object, key) ? object[key] : undefined);
  // Adds to a true array that goes to the program, past any setter on Array.prototype.
  rt.append = (array, value) => ReflectDefineProperty(array, array.length,
    { __proto__: null, value, writable: true, enumerable: true, configurable: true });
  // A private list: null-prototype, so plain index assignment is safe.
  rt.list = () => ({ __proto__: null, length: 0 });
  rt.define = (target, key, value, enumerable = false) => ReflectDefineProperty(target, key,
    { __proto__: null, value, writable: true, enumerable, configurable: true });
  // Puts a class of ours in the place of the engine's, with its prototype and these of its own properties.
  rt.replace = (own, ours, keys) => {
    for (const key of keys) Object.defineProperty(ours, key, Object.getOwnPropertyDescriptor(own, key));
    Object.defineProperty(ours, "prototype", { value: own.prototype, writable: false });
    rt.define(own.prototype, "constructor", ours);
    globalThis[own.name] = ours;
  };
  rt.replaceEach = (text, find, put) => {
    let out = "", from = 0;
    for (let at; (at = StringIndexOf(text, find, from)) >= 0; from = at + find.length) {
      out += StringSlice(text, from, at) + put;
    }
    return from === 0 ? text : out + StringSlice(text, from);
  };
  // At most `length` UTF-16 units, never ending inside a surrogate pair.
  rt.cut = (text, length) => {
    if (text.length <= length) return text;
    const last = StringCharCodeAt(text, length - 1);
    return StringSlice(text, 0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
  };
  // The primitive inside a boxed one, by its type; undefined for anything else.
  rt.unbox = (type, value) => (type === "String" ? rt.StringValueOf(value) : type === "Number" ? rt.NumberValueOf(value)
    : type === "Boolean" ? rt.BooleanValueOf(value) : type === "BigInt" ? rt.BigIntValueOf(value)
    : type === "Symbol" ? rt.SymbolValueOf(value) : undefined);
  rt.quote = (text) => JSONStringify(StringToWellFormed(text));
  rt.isIdentifier = (text) => {
    if (text.length === 0 || text.length > 100) return false;
    for (let i = 0; i < text.length; i++) {
      const c = StringCharCodeAt(text, i);
      const letter = (c >= 97 && c <= 122) || (c >= 65 && c <= 90) || c === 95 || c === 36;
      if (!letter && (i === 0 || c < 48 || c > 57)) return false;
    }
    return true;
  };
  globalThis.__rt = rt;
})();
