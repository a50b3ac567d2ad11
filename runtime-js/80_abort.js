// Owns AbortController and AbortSignal, with the one event they have ("abort"), which fires once.
// It must never let a listener that throws keep the others from running.
(function () {
  "use strict";
  const rt = globalThis.__rt;
  const { DOMException, ReflectApply, TypeError, list } = rt;
  const INTERNAL = { __proto__: null };
  let abort; // (signal, reason)

  class AbortSignal {
    #aborted = false; #reason = undefined; #listeners = list();
    onabort = null;
    constructor(token) {
      if (token !== INTERNAL) throw new TypeError("a signal comes from new AbortController().signal");
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
      const old = this.#listeners;
      this.#listeners = list();
      for (let i = 0; i < old.length; i++) {
        if (old[i] !== listener) this.#listeners[this.#listeners.length++] = old[i];
      }
    }
    #abort(reason) {
      if (this.#aborted) return;
      this.#aborted = true;
      this.#reason = reason === undefined ? new DOMException("This operation was aborted", "AbortError") : reason;
      const event = { type: "abort", target: this, currentTarget: this };
      const listeners = this.#listeners, own = rt.peek(this, "onabort");
      this.#listeners = list();
      if (typeof own === "function") listeners[listeners.length++] = own;
      for (let i = 0; i < listeners.length; i++) {
        try {
          ReflectApply(listeners[i], this, [event]);
        } catch (error) {
          rt.later(() => { throw error; });
        }
      }
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
    static {
      abort = (signal, reason) => signal.#abort(reason);
      rt.signalText = (value) => (#listeners in value ? `AbortSignal { aborted: ${value.#aborted} }` : undefined);
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
