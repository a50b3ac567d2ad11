// What the JavaScript runners share: the programs, the host's tools, the clock, the cases and the shape of a line.
// It knows no peer. A runner describes its peer to `measure`, which prints one JSON line for each case.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const folder = import.meta.dirname;

/** Where `run` installed the packages of one peer. */
export const home = (peer) => join(process.env.ISOLANE_PEERS_DIR, peer);

/** A `require` that finds the packages of one peer. */
export const requireOf = (peer) => createRequire(join(home(peer), "package.json"));

/** The version of an installed package; read as a file, because not every package gives its own to `require`. */
export const versionOf = (peer, name) =>
  JSON.parse(readFileSync(join(home(peer), "node_modules", name, "package.json"), "utf8")).version;

/** The host's tools: the same two for every peer. Asynchronous, as tools of a host are. */
export const tools = { noop: async ({ n }) => n, echo: async ({ text }) => text };

export const program = (name) => readFileSync(join(folder, "programs", `${name}.js`), "utf8");

const quick = process.argv.includes("--quick");

/**
 * The cases: the program, what it must return, how many units of work one run of it is, how often it runs, and whether
 * the making of the sandbox is part of the time. `monty.py` has the same table.
 */
const cases = [
  { name: "start and return", program: "start", value: 1, per: 1, runs: 200, fresh: true },
  { name: "one call", program: "one_call", value: 1, per: 1, runs: 200, fresh: true },
  { name: "sequential call", program: "sequential", value: 499500, per: 1000, runs: 30 },
  { name: "parallel call", program: "parallel", value: 499500, per: 1000, runs: 30 },
  { name: "1 MiB in and out", program: "mebibyte", value: 10 << 20, per: 10, runs: 20 },
  { name: "fib(25)", program: "fib", value: 75025, per: 1, runs: 30 },
  { name: "loop of 10 million", program: "loop", value: 49999995000000, per: 1, runs: 15 },
];
const IDLE = quick ? 10 : 100;
/** No case of one peer takes longer than this, in milliseconds, but it always runs five times. */
const BUDGET = quick ? 5_000 : 30_000;

/**
 * Measures one peer.
 *
 * `peer.open()` makes a fresh sandbox; its `run(text)` gives what the program returns and `close()` ends it.
 * `peer.startsInRun`: the sandbox is made by `run`; the start's median is then taken off where it should not count.
 * `peer.openIdle()`: makes a sandbox that waits, where `open` makes none.
 * `peer.processes(sandboxes)`: the ids of the processes that idle sandboxes live in; by default this process.
 * `peer.growth`: whether the memory that was there before the sandboxes is taken off; by default it is.
 * `peer.cannot` and `peer.notes`: reasons and remarks by the name of a case.
 * `peer.also`: other ways to do a case, as `{ case, text, open }`; their median goes into the note.
 */
export async function measure(peer) {
  const print = (line) =>
    process.stdout.write(`${JSON.stringify({ peer: peer.name, version: peer.version, ...line })}\n`);
  const missing = (name, unit, note) => print({ case: name, unit, p50: null, p99: null, n: 0, note });

  // Memory first, while nothing that was freed is there to be used again.
  const idle = peer.cannot?.["idle sandbox"];
  if (idle) missing("idle sandbox", "KiB", idle);
  else {
    try {
      const each = await memory(peer);
      const note = peer.notes?.["idle sandbox"] ?? "";
      print({ case: "idle sandbox", unit: "KiB", p50: each, p99: null, n: IDLE, note });
    } catch (error) {
      missing("idle sandbox", "KiB", String(error));
    }
  }

  let start = 0;
  for (const one of cases) {
    const why = peer.cannot?.[one.name];
    if (why) {
      missing(one.name, "us", why);
      continue;
    }
    try {
      const taken = peer.startsInRun && !one.fresh ? start : 0;
      const times = await timed(peer.open, one, taken);
      if (one.name === "start and return") start = at(times, 0.5);
      const notes = peer.notes?.[one.name] ? [peer.notes[one.name]] : [];
      for (const other of peer.also?.filter((other) => other.case === one.name) ?? []) {
        notes.push(`${other.text}: ${at(await timed(other.open, one, taken), 0.5).toFixed(1)} us`);
      }
      const [p50, p99] = [at(times, 0.5), at(times, 0.99)];
      print({ case: one.name, unit: "us", p50, p99, n: times.length, note: notes.join("; ") });
    } catch (error) {
      missing(one.name, "us", String(error));
    }
  }
}

/** Microseconds for each unit of work, sorted. */
async function timed(open, one, taken) {
  const text = program(one.program);
  const times = [];
  const end = performance.now() + BUDGET;
  const runs = quick ? Math.ceil(one.runs / 10) + 3 : one.runs;
  // Three runs that do not count: the host's own code is compiled by then.
  for (let run = -3; run < runs && (run < 5 || performance.now() < end); run++) {
    // The same rest for every peer before each run: what the run before left to be done is done.
    await sleep(15);
    const begun = performance.now();
    const sandbox = await open();
    const ready = performance.now();
    const value = await sandbox.run(text);
    const done = performance.now();
    await sandbox.close();
    if (value !== one.value) throw new Error(`${one.program} returned ${JSON.stringify(value)}`);
    if (run >= 0) times.push((Math.max(0, done - (one.fresh ? begun : ready) - taken / 1000) * 1000) / one.per);
  }
  return times.sort((a, b) => a - b);
}

async function memory(peer) {
  const growth = peer.growth ?? true;
  // One that does not count: what the first sandbox brings into the process is shared by all.
  const open = peer.openIdle ?? peer.open;
  const first = await open();
  const processes = peer.processes ?? (() => [process.pid]);
  await sleep(500);
  const before = growth ? privateKib(processes([first])) : 0;
  const held = [];
  for (let index = 0; index < IDLE; index++) held.push(await open());
  await sleep(1000);
  const each = (privateKib(processes(held)) - before) / IDLE;
  for (const sandbox of [first, ...held]) await sandbox.close();
  return each;
}

/** Private resident memory of processes, in KiB. */
export function privateKib(pids) {
  let sum = 0;
  for (const pid of pids) {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
    for (const [, kib] of text.matchAll(/^Private_\w+:\s+(\d+) kB/gm)) sum += Number(kib);
  }
  return sum;
}

const at = (sorted, share) => sorted[Math.round((sorted.length - 1) * share)];
