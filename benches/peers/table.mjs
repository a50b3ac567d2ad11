// The Markdown table: one row for each case, one column for isolane and for each peer, and what stands under it.
// It measures nothing and reads nothing but the machine's own description.

import { readFileSync } from "node:fs";
import os from "node:os";

/** isolane's own columns; ratios are to the first. */
export const OWN = ["isolane boxed", "isolane in-process"];

/** The rows. A 99th percentile has a row where a user waits for it. */
const ROWS = [
  ["start and return", "p50"],
  ["start and return", "p99"],
  ["one call", "p50"],
  ["one call", "p99"],
  ["sequential call", "p50"],
  ["parallel call", "p50"],
  ["1 MiB in and out", "p50"],
  ["fib(25)", "p50"],
  ["loop of 10 million", "p50"],
  ["idle sandbox", "p50"],
];

/** All lines as a table; `absent` are remarks on peers that gave none, `before` the load before they were taken. */
export function markdown(lines, peers, absent, before = "unknown") {
  const columns = [...OWN, ...peers];
  const line = (peer, name) => lines.findLast((line) => line.peer === peer && line.case === name);
  const value = (peer, [name, share]) => line(peer, name)?.[share] ?? null;
  const out = [];
  const notes = [];
  const note = (text) => {
    if (!notes.includes(text)) notes.push(text);
    return ` [${notes.indexOf(text) + 1}]`;
  };

  out.push(`| case | ${columns.join(" | ")} |`, `|---${"|---:".repeat(columns.length)}|`);
  const faster = [];
  let compared = 0;
  for (const row of ROWS) {
    const [name, share] = row;
    const title = name === "idle sandbox" ? "idle sandbox, private memory" : `${name}, ${share}`;
    const boxed = value(OWN[0], row);
    const cells = columns.map((peer) => {
      const mine = value(peer, row);
      const from = line(peer, name);
      const foot = from?.note && share === "p50" ? note(`${peer}, ${name}: ${from.note}`) : "";
      if (mine === null) return `-${foot}`;
      if (peer === OWN[0] || boxed === null) return show(mine, from.unit) + foot;
      const ratio = mine / boxed;
      if (!OWN.includes(peer)) compared++;
      if (!OWN.includes(peer) && ratio < 1) {
        faster.push(`${peer} is ${name === "idle sandbox" ? "smaller" : "faster"} at "${title}": ${times(1 / ratio)}.`);
      }
      return `${show(mine, from.unit)} (${times(ratio)})${foot}`;
    });
    out.push(`| ${title} | ${cells.join(" | ")} |`);
  }

  out.push("", "In brackets: how many times isolane boxed. Times of calls are for one call.", "");
  if (compared > 0) {
    out.push(faster.length > 0 ? "Where a peer wins over isolane boxed:" : "No peer wins over isolane boxed.", "");
    for (const text of faster) out.push(`- ${text}`);
    if (faster.length > 0) out.push("");
  }
  out.push("Notes:", "");
  for (const [index, text] of notes.entries()) out.push(`- [${index + 1}] ${text}.`);
  for (const text of absent) out.push(`- ${text}.`);
  out.push("", "Versions:", "");
  for (const peer of columns) {
    const version = lines.find((line) => line.peer === peer)?.version;
    out.push(`- ${peer}: ${version ?? "-"}`);
  }
  out.push("", `Machine: ${machine()}; load ${before} before the runs and ${load()} after them.`);
  return `${out.join("\n")}\n`;
}

/** Three digits, with the unit that reads best. */
export function show(value, unit) {
  const steps = unit === "KiB" ? [["KiB", 1], ["MiB", 1024]] : [["us", 1], ["ms", 1e3], ["s", 1e6]];
  const [name, size] = steps.findLast(([, size]) => value >= size) ?? steps[0];
  const scaled = value / size;
  return `${scaled.toFixed(scaled < 10 ? 2 : scaled < 100 ? 1 : 0)} ${name}`;
}

const times = (ratio) => `${ratio.toFixed(ratio < 1 ? 2 : ratio < 10 ? 1 : 0)}x`;

/** How many threads wanted a core in the last minute. */
export const load = () => readFileSync("/proc/loadavg", "utf8").split(" ")[0];

function machine() {
  const cpu = os.cpus();
  const memory = Math.round(os.totalmem() / (1 << 30));
  return `${cpu[0]?.model.trim()}, ${cpu.length} cores, ${memory} GiB, ${os.type()} ${os.release()} ${os.arch()}`;
}
