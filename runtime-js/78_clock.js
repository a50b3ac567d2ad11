// Owns the program's clock and chance: Date, Intl.DateTimeFormat and Math.random over what the host gives and records,
// so that a program that runs again reads the same (L-9). It must never ask the engine for either.
(function () {
  "use strict";
  const { ReflectConstruct, define, native: { chance, time }, replace, uncurry } = globalThis.__rt;
  const Own = globalThis.Date, text = uncurry(Own.prototype.toString);
  function Date(_year, _month, _day, _hours, _minutes, _seconds, _milliseconds) {
    if (new.target === undefined) return text(new Own(time()));
    return ReflectConstruct(Own, arguments.length === 0 ? [time()] : arguments, new.target);
  }
  replace(Own, Date, ["parse", "UTC"]);
  define(Date, "now", { now() { return time(); } }.now);
  // Without a date these take the time by themselves.
  const { prototype: format } = Intl.DateTimeFormat, parts = uncurry(format.formatToParts);
  const bound = uncurry(Object.getOwnPropertyDescriptor(format, "format").get);
  const withTime = (date) => (date === undefined ? time() : date);
  define(format, "formatToParts", { formatToParts(date) { return parts(this, withTime(date)); } }.formatToParts);
  const get = { format() { const written = bound(this); return (date) => written(withTime(date)); } }.format;
  Object.defineProperty(format, "format", { get });
  // Xorshift over four words of the host's, which are there once they are asked for.
  let a = 0, b = 0, c = 0, d = 0;
  function word() {
    const t = d ^ (d << 11);
    d = c; c = b; b = a;
    return (a = t ^ (t >>> 8) ^ a ^ (a >>> 19)) >>> 0;
  }
  define(Math, "random", { random() {
    while ((a | b | c | d) === 0) { a = chance(); b = chance(); c = chance(); d = chance(); }
    return (word() * 2097152 + (word() >>> 11)) / 9007199254740992;
  } }.random);
})();
