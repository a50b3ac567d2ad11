// Owns the globals that work on bytes and copies: TextEncoder, TextDecoder, atob, btoa,
// structuredClone, crypto (random values, UUIDs, digests) and performance.now.
// It must never hand the host anything but strings, numbers and fresh views on bytes.
(function () {
  "use strict";
  const rt = globalThis.__rt;
  const { DOMException, StringIndexOf, StringToUpperCase, TypeError, Uint8Array, globals, isObject } = rt;
  const { TypedArrayGetBuffer, TypedArrayGetByteLength, TypedArrayGetByteOffset } = rt;
  const { classOf, clone, decode, digest, encoding, fromBase64, now, random, toBase64, utf8Encode, uuid } = rt.native;
  const MAX_RANDOM = 65536;
  // The bytes behind an ArrayBuffer or a view, without copying.
  function bytesOf(source, what) {
    switch (isObject(source) ? classOf(source) : "") {
      case "ArrayBuffer": return new Uint8Array(source);
      case "TypedArray": return new Uint8Array(TypedArrayGetBuffer(source),
        TypedArrayGetByteOffset(source), TypedArrayGetByteLength(source));
      case "DataView": return new Uint8Array(rt.DataViewGetBuffer(source),
        rt.DataViewGetByteOffset(source), rt.DataViewGetByteLength(source));
      default: throw new TypeError(`${what} takes an ArrayBuffer or a view on one`);
    }
  }

  // A buffer that can grow takes its memory past the counted allocator, so there is none: the constructor
  // is the engine's own without that option.
  const Fixed = globalThis.ArrayBuffer;
  function ArrayBuffer(length, options = undefined) {
    if (new.target === undefined) throw new TypeError("Constructor ArrayBuffer requires 'new'");
    if (isObject(options) && options.maxByteLength !== undefined) {
      throw new TypeError("an ArrayBuffer cannot be made to grow here; make it as large as you need it");
    }
    return rt.ReflectConstruct(Fixed, [length], new.target);
  }
  rt.replace(Fixed, ArrayBuffer, ["isView", Symbol.species]);

  class TextEncoder {
    get encoding() { return "utf-8"; }
    encode(text = "") { return utf8Encode(`${text}`); }
  }
  class TextDecoder {
    #name; #fatal; #ignoreBOM;
    constructor(label = "utf-8", options = undefined) {
      const name = encoding(`${label}`), given = rt.isObject(options);
      if (name === null) throw new rt.RangeError(`TextDecoder does not know the encoding ${rt.quote(`${label}`)}`);
      this.#name = name;
      this.#fatal = given && !!options.fatal;
      this.#ignoreBOM = given && !!options.ignoreBOM;
    }
    get encoding() { return this.#name; }
    get fatal() { return this.#fatal; }
    get ignoreBOM() { return this.#ignoreBOM; }
    decode(input = undefined, options = undefined) {
      // There is no stream here that would hand out text in pieces.
      if (rt.isObject(options) && options.stream) throw new TypeError("decode takes all bytes at once, not a stream");
      const bytes = input === undefined ? new Uint8Array(0) : bytesOf(input, "decode");
      const text = decode(bytes, this.#name, this.#fatal, this.#ignoreBOM);
      if (text === undefined) throw new TypeError(`the data is not valid ${this.#name}`);
      return text;
    }
  }

  const given = (text, problem) => {
    if (text === undefined) throw new DOMException(problem, "InvalidCharacterError");
    return text;
  };
  globals.btoa = function btoa(data) {
    return given(toBase64(`${data}`), "btoa takes characters up to U+00FF; encode the text with TextEncoder first");
  };
  globals.atob = function atob(data) { return given(fromBase64(`${data}`), "atob was given text that is not base64"); };
  const refusal = (text) => new DOMException(text, "DataCloneError");
  globals.structuredClone = function structuredClone(value) { return clone(value, refusal); };

  const DIGESTS = { __proto__: null, "SHA-1": true, "SHA-256": true, "SHA-384": true, "SHA-512": true };
  globals.crypto = {
    getRandomValues: (array) => {
      const kind = isObject(array) && classOf(array) === "TypedArray" ? rt.TypedArrayGetTag(array) : "";
      if (kind === "" || StringIndexOf(kind, "Float") === 0) {
        throw new DOMException("getRandomValues takes an integer typed array", "TypeMismatchError");
      }
      const bytes = bytesOf(array, "getRandomValues");
      if (TypedArrayGetByteLength(bytes) > MAX_RANDOM) {
        throw new DOMException(`getRandomValues fills at most ${MAX_RANDOM} bytes`, "QuotaExceededError");
      }
      random(bytes);
      return array;
    },
    randomUUID: () => uuid(),
    subtle: {
      digest: async (algorithm, data) => {
        const name = StringToUpperCase(`${isObject(algorithm) ? algorithm.name : algorithm}`);
        if (DIGESTS[name] !== true) {
          throw new DOMException("digest knows SHA-1, SHA-256, SHA-384 and SHA-512", "NotSupportedError");
        }
        return TypedArrayGetBuffer(digest(name, bytesOf(data, "digest")));
      },
    },
  };
  globals.performance = { now: () => now() };
  globals.TextEncoder = TextEncoder;
  globals.TextDecoder = TextDecoder;
})();
