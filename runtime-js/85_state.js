// Owns the global `state` (CM-11): JSON values that outlive the run.
// It must never keep one itself: the host has them, counts their bytes and commits them.
(function () {
  "use strict";
  const rt = globalThis.__rt;
  const { StringIsWellFormed, normalise, typeError, walk } = rt;
  const { stateCommit, stateDelete, stateGet, stateKeys, stateSet } = rt.native;
  const check = (key, entrance) => {
    if (typeof key === "string" && StringIsWellFormed(key)) return key;
    throw typeError(`a key of state is a string, such as "seen" (given ${rt.brief(key)})`, entrance);
  };
  const state = {
    get(key) {
      const text = stateGet(check(key, state.get));
      return text === undefined ? undefined : rt.parse(text, true);
    },
    set(key, value) {
      const st = walk("value", "keep", 16 * 1024 * 1024), text = normalise(st, value);
      if (text === undefined && st.problem === "") st.problem = "value is undefined: use state.delete(key)";
      if (st.problem !== "") throw typeError(st.problem, state.set);
      stateSet(check(key, state.set), text);
    },
    delete(key) { return stateDelete(check(key, state.delete)); },
    keys() { return stateKeys(); },
    commit() { stateCommit(); },
  };
  rt.globals.state = rt.ObjectFreeze(state);
})();
