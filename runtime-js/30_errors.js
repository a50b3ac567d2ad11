// Owns the error classes of the runtime (ToolCallError, DOMException) and the report that the host
// gets about whatever a program threw (CM-16, CM-23).
// It must never throw itself, and never ask an object of the program the same thing twice.
(function () {
  "use strict";
  const rt = globalThis.__rt;
  const { ArrayIsArray, Error, ErrorCaptureStackTrace, ReflectGet, StringEndsWith, StringSlice } = rt;
  const { TypeError, cut, define, errorHeader, framesOf, headerOf, inspect, peek, quote, stackOf } = rt;
  const { classOf } = rt.native;
  const MAX_TEXT = 64 * 1024, MAX_BRIEF = 1000, MAX_CAUSES = 3, MAX_INNER = 5;

  class ToolCallError extends Error {
    #call = null; // {tool, code} as JSON, for an error that the host made
    constructor(toolName, code, message, details) {
      super(message === undefined ? "" : `${message}`);
      define(this, "name", "ToolCallError");
      define(this, "toolName", toolName, true);
      define(this, "code", code, true);
      define(this, "details", details, true);
    }
    static {
      rt.toolCallError = (toolName, code, message, details, site) => {
        const error = new ToolCallError(toolName, code, message, details);
        error.#call = `{"tool":${quote(toolName)},"code":${quote(code)}}`;
        define(error, "stack", `ToolCallError: ${message}${framesOf(stackOf(site))}`);
        return error;
      };
      // A program can throw look-alikes, or change the fields: neither is reported as a failed call.
      rt.failedCall = (value) => (#call in value ? value.#call : null);
    }
  }

  class DOMException extends Error {
    constructor(message = "", name = "Error") {
      super(`${message}`);
      define(this, "name", `${name}`);
    }
  }
  // A property of a thrown value, by its getter if it has one (asked once), never through a proxy.
  function ask(object, key) {
    const plain = peek(object, key);
    if (plain !== undefined) return plain;
    try { return classOf(object) === "Proxy" ? undefined : ReflectGet(object, key); } catch { return undefined; }
  }
  const isError = (value) => rt.isObject(value) && classOf(value) === "Error";
  function brief(value) {
    try {
      if (!isError(value)) return cut(typeof value === "string" ? value : inspect(value), MAX_BRIEF);
      return cut(errorHeader(value, ask), MAX_BRIEF);
    } catch {
      return "a value that cannot be shown";
    }
  }
  // What the message alone does not tell: the members of an AggregateError and the chain of causes.
  function context(error) {
    let text = "";
    const inner = peek(error, "errors");
    if (rt.isObject(inner) && classOf(inner) !== "Proxy" && ArrayIsArray(inner)) {
      for (let i = 0; i < inner.length && i < MAX_INNER; i++) {
        text += `\n  [${i + 1}] ${brief(peek(inner, `${i}`))}`;
      }
      if (inner.length > MAX_INNER) text += `\n  and ${inner.length - MAX_INNER} more`;
    }
    const seen = rt.list();
    let at = error;
    for (let depth = 0; depth < MAX_CAUSES; depth++) {
      seen[depth] = at;
      const cause = peek(at, "cause");
      if (cause === undefined) break;
      for (let i = 0; i <= depth; i++) if (seen[i] === cause) return `${text}\ncaused by itself`;
      text += `\ncaused by ${brief(cause)}`;
      if (!isError(cause)) break;
      at = cause;
    }
    return text;
  }

  rt.entry.describe = (thrown) => {
    let name = "", message = "", stack = "", toolCall = "null", missing = "null";
    try {
      if (!isError(thrown)) {
        message = `thrown value is not an Error: ${cut(inspect(thrown), MAX_BRIEF * 2)}`;
      } else {
        const found = headerOf(thrown, ask), end = " is not defined";
        name = cut(found.name, 200), message = cut(found.message, MAX_TEXT);
        stack = cut(framesOf(stackOf(thrown)), MAX_TEXT);
        if (name === "ReferenceError" && message.length < 300 && StringEndsWith(message, end)) {
          missing = quote(StringSlice(message, 0, message.length - end.length));
        }
        toolCall = rt.failedCall(thrown) ?? toolCall;
        message += context(thrown);
      }
    } catch {
      if (message === "") message = "the thrown value cannot be shown";
    }
    // `stack` is the program's own frames, without the header that the error could have forged.
    return `{"name":${quote(name)},"message":${quote(message)},"stack":${quote(StringSlice(stack, 1))},` +
      `"toolCall":${toolCall},"missing":${missing}}`;
  };
  // A TypeError of ours whose stack begins at the caller of `entrance`.
  rt.typeError = (message, entrance) => {
    const error = new TypeError(message);
    ErrorCaptureStackTrace(error, entrance);
    return error;
  };
  rt.brief = brief;
  rt.DOMException = DOMException;
  rt.globals.ToolCallError = ToolCallError;
  rt.globals.DOMException = DOMException;
  // V8 hands call sites to this hook; inert, it can neither see our frames nor break a report.
  Object.defineProperty(globalThis.Error, "prepareStackTrace", {
    get: () => undefined, set: () => undefined, enumerable: false, configurable: false,
  });
})();
