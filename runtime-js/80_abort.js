// Owns AbortController and AbortSignal, with the one event they have ("abort"), which
// fires once, so that the option "once" needs no care.
// It must never let a listener that throws keep the others from running.
(function () {
  "use strict";
  const rt = globalThis.__rt;
  const { DOMException, ReflectApply, TypeError, list } = rt;
  const INTERNAL = { __proto__: null };
  let abort; // (signal, reason)

  function call(listener, signal, event) {
    try {
      ReflectApply(listener, signal, [event]);
    } catch (error) {
      rt.later(() => { throw error; });
    }
  }
  class AbortSignal {
    #aborted = false; #reason = undefined; #listeners = list(); #followers = list();
    onabort = null;
    constructor(token) {
      if (token !== INTERNAL) throw new TypeError("use new AbortController().signal, AbortSignal.abort() or .timeout(ms)");
    }
    get aborted() { return this.#aborted; }
    get reason() { return this.#reason; }
    throwIfAborted() { if (this.#aborted) throw this.#reason; }
    addEventListener(type, listener) {
      if (type !== "abort" || typeof listener !== "function") return;
      this.#drop(listener);
      this.#listeners[this.#listeners.length++] = listener;
    }
    removeEventListener(type, listener) { if (type === "abort") this.#drop(listener); }
    #drop(listener) {
      const kept = list();
      for (let i = 0; i < this.#listeners.length; i++) {
        if (this.#listeners[i] !== listener) kept[kept.length++] = this.#listeners[i];
      }
      this.#listeners = kept;
    }
    #abort(reason) {
      if (this.#aborted) return;
      this.#aborted = true;
      this.#reason = reason === undefined ? new DOMException("This operation was aborted", "AbortError") : reason;
      const event = { type: "abort", target: this, currentTarget: this };
      const listeners = this.#listeners, followers = this.#followers, own = rt.peek(this, "onabort");
      this.#listeners = list();
      this.#followers = list();
      if (typeof own === "function") call(own, this, event);
      for (let i = 0; i < listeners.length; i++) call(listeners[i], this, event);
      for (let i = 0; i < followers.length; i++) followers[i].#abort(this.#reason);
    }
    static abort(reason = undefined) {
      const signal = new AbortSignal(INTERNAL);
      signal.#abort(reason);
      return signal;
    }
    static timeout(ms) {
      const signal = new AbortSignal(INTERNAL);
      rt.startTimer(() => signal.#abort(new DOMException("The operation timed out", "TimeoutError")), ms);
      return signal;
    }
    // The list of signals is the program's own iterable, walked as the language says.
    static any(signals) {
      const signal = new AbortSignal(INTERNAL);
      for (const source of signals) {
        if (!rt.isObject(source) || !(#followers in source)) throw new TypeError("AbortSignal.any takes signals");
        if (source.#aborted) signal.#abort(source.#reason);
        else source.#followers[source.#followers.length++] = signal;
      }
      return signal;
    }
    static {
      abort = (signal, reason) => signal.#abort(reason);
      rt.signalText = (value) => (#followers in value ? `AbortSignal { aborted: ${value.#aborted} }` : undefined);
    }
  }
  class AbortController {
    #signal = new AbortSignal(INTERNAL);
    get signal() { return this.#signal; }
    abort(reason = undefined) { abort(this.#signal, reason); }
  }
  rt.globals.AbortController = AbortController;
  rt.globals.AbortSignal = AbortSignal;
})();
