// Owns setTimeout, setInterval, their clear functions and queueMicrotask. The host keeps the time and
// the cap on pending timers; here live only the callbacks.
// It must never accept a string as a callback, and never look at the clock by itself.
(function () {
  "use strict";
  const rt = globalThis.__rt;
  const { ReflectApply, globals, typeError } = rt;
  const { arm, disarm } = rt.native;
  const MAX_DELAY = 2147483647;
  const timers = { __proto__: null };
  let nextId = 1;

  function callback(value, name, entrance) {
    if (typeof value === "function") return value;
    throw typeError(`${name} takes a function, not ${value === null ? "null" : `a ${typeof value}`}`, entrance);
  }
  function delayOf(value, least) {
    const delay = value === undefined ? 0 : +value;
    return delay > least ? (delay < MAX_DELAY ? delay : MAX_DELAY) : least; // NaN gives the least
  }
  function start(run, delay, args, repeat) {
    const id = nextId++;
    arm(id, delay);
    timers[id] = { run, delay, args, repeat };
    return id;
  }
  rt.entry.fire = (id) => {
    const timer = timers[id];
    if (timer === undefined) return;
    if (!timer.repeat) delete timers[id];
    ReflectApply(timer.run, undefined, timer.args);
    if (timer.repeat && timers[id] === timer) arm(id, timer.delay);
  };
  // Awaiting a primitive runs the rest as a microtask without asking any promise method; what `run`
  // throws becomes an unhandled rejection, which fails the run.
  rt.later = async (run) => {
    await undefined;
    run();
  };
  rt.startTimer = (run, ms) => start(run, delayOf(ms, 0), [], false);

  globals.setTimeout = function setTimeout(run, ms, ...args) {
    return start(callback(run, "setTimeout", setTimeout), delayOf(ms, 0), args, false);
  };
  globals.setInterval = function setInterval(run, ms, ...args) {
    return start(callback(run, "setInterval", setInterval), delayOf(ms, 1), args, true);
  };
  globals.clearInterval = globals.clearTimeout = function clearTimeout(id) {
    if (typeof id !== "number" || timers[id] === undefined) return;
    delete timers[id];
    disarm(id);
  };
  globals.queueMicrotask = function queueMicrotask(run) {
    rt.later(callback(run, "queueMicrotask", queueMicrotask));
  };
})();
