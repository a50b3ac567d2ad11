// Owns `console` and `print`. Each call makes one finished line (which may hold newlines) and hands it
// to the host with its level, so the order of lines is kept across levels (CM-29).
// It must never write anywhere else, and never run a program's getters or formatting hooks.
(function () {
  "use strict";
  const rt = globalThis.__rt;
  const { ArrayIsArray, ErrorCaptureStackTrace, ObjectKeys, StringRepeat, cut, format, framesOf, inspect } = rt;
  const { list, peek, replaceEach } = rt;
  const { classOf, log, now } = rt.native;
  const MAX_ROWS = 1000, MAX_COLUMNS = 50, MAX_INDENT = 40, MAX_DIR_DEPTH = 20;
  let indent = "";
  const counts = { __proto__: null }, times = { __proto__: null };

  const put = (level, text) => log(level, indent === "" ? text : indent + replaceEach(text, "\n", `\n${indent}`));
  const labelOf = (label) => (label === undefined ? "default" : typeof label === "string" ? label : inspect(label));
  function elapsed(label, rest, end) {
    const key = labelOf(label), start = times[key];
    if (start === undefined) return put("warn", `no timer ${key}: start it with console.time`);
    if (end) times[key] = undefined;
    put("info", `${key}: ${now() - start} ms${rest.length > 0 ? ` ${format(rest)}` : ""}`);
  }
  function trace(...args) {
    const site = { __proto__: null };
    ErrorCaptureStackTrace(site, trace);
    put("debug", `Trace${args.length > 0 ? `: ${format(args)}` : ""}${framesOf(rt.stackOf(site))}`);
  }
  function dir(value, options) {
    let depth = rt.isObject(options) ? peek(options, "depth") : undefined;
    if (depth === null || depth > MAX_DIR_DEPTH) depth = MAX_DIR_DEPTH;
    put("log", inspect(value, typeof depth === "number" ? depth : undefined));
  }
  // The entries of a list, Map or plain object, as {key, value}; undefined for anything else.
  function entriesOf(value, most) {
    const type = rt.isObject(value) && typeof value !== "function" ? classOf(value) : "none", out = list();
    const push = (key, entry) => { out[out.length++] = { key, value: entry }; };
    if (type === "Map") {
      const entries = rt.MapEntries(value);
      for (let i = 0, size = rt.MapGetSize(value); i < size && i < most; i++) {
        const pair = rt.MapIteratorNext(entries).value;
        push(cellText(pair[0]), pair[1]);
      }
    } else if (type !== "") {
      return undefined;
    } else if (ArrayIsArray(value)) {
      for (let i = 0; i < value.length && i < most; i++) push(`${i}`, peek(value, `${i}`));
    } else {
      const keys = ObjectKeys(value);
      for (let i = 0; i < keys.length && i < most; i++) push(keys[i], peek(value, keys[i]));
    }
    return out;
  }
  const cellText = (value) => cut(replaceEach(typeof value === "string" ? value : inspect(value, 0), "\n", " "), 500);
  // A Markdown table without padding. Columns are those of all rows, or those the program names.
  function table(data, only) {
    const source = entriesOf(data, MAX_ROWS + 1), wanted = entriesOf(only, MAX_COLUMNS);
    if (source === undefined) return put("log", format([data]));
    const columns = list(), rows = list(), places = { __proto__: null };
    function place(name) {
      if (places[name] === undefined && columns.length < MAX_COLUMNS) {
        places[name] = columns.length;
        columns[columns.length++] = name;
      }
      return places[name];
    }
    for (let i = 0; wanted !== undefined && i < wanted.length; i++) place(cellText(wanted[i].value));
    for (let i = 0; i < source.length && i < MAX_ROWS; i++) {
      const row = rows[rows.length++] = { __proto__: null };
      const cells = entriesOf(source[i].value, MAX_COLUMNS);
      if (cells === undefined) row[place("Values")] = cellText(source[i].value);
      for (let k = 0; cells !== undefined && k < cells.length; k++) {
        const at = wanted === undefined ? place(cells[k].key) : places[cells[k].key];
        if (at !== undefined) row[at] = cellText(cells[k].value);
      }
    }
    let text = "| (index) |", rule = "\n| --- |", body = "";
    for (let c = 0; c < columns.length; c++) text += ` ${columns[c]} |`, rule += " --- |";
    for (let r = 0; r < rows.length; r++) {
      body += `\n| ${source[r].key} |`;
      for (let c = 0; c < columns.length; c++) body += ` ${rows[r][c] ?? ""} |`;
    }
    put("log", text + rule + body + (source.length > MAX_ROWS ? `\n... more than ${MAX_ROWS} rows` : ""));
  }

  const console = {
    log: (...args) => put("log", format(args)),
    info: (...args) => put("info", format(args)),
    warn: (...args) => put("warn", format(args)),
    error: (...args) => put("error", format(args)),
    debug: (...args) => put("debug", format(args)),
    trace, dir, table,
    assert: (condition, ...args) => {
      if (!condition) put("error", args.length > 0 ? `Assertion failed: ${format(args)}` : "Assertion failed");
    },
    count: (label) => {
      const key = labelOf(label);
      counts[key] = (counts[key] ?? 0) + 1;
      put("info", `${key}: ${counts[key]}`);
    },
    countReset: (label) => { counts[labelOf(label)] = 0; },
    time: (label) => { times[labelOf(label)] = now(); },
    timeLog: (label, ...rest) => elapsed(label, rest, false),
    timeEnd: (label) => elapsed(label, [], true),
    group: (...args) => {
      if (args.length > 0) put("log", format(args));
      if (indent.length < MAX_INDENT) indent += "  ";
    },
    groupEnd: () => { indent = StringRepeat(" ", indent.length > 2 ? indent.length - 2 : 0); },
  };
  console.groupCollapsed = console.group;
  rt.globals.console = console;
  rt.globals.print = function print(...args) { put("log", format(args)); };
})();
