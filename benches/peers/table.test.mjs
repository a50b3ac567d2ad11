// What the table must say, by made-up lines: `node --test benches/peers/`.

import assert from "node:assert/strict";
import test from "node:test";

import { markdown, show } from "./table.mjs";

function line(peer, name, p50, p99, note = "") {
  return { peer, version: "1", case: name, unit: "us", p50, p99, n: 1, note };
}
const own = [
  line("isolane boxed", "one call", 200, 800),
  line("isolane in-process", "one call", 100, 400),
];

test("E-14: a cell has the value and how many times isolane boxed it is", () => {
  const text = markdown([...own, line("other", "one call", 500, 1600)], ["other"], []);
  assert.match(text, /\| one call, p50 \| 200 us \| 100 us \(0\.50x\) \| 500 us \(2\.5x\) \|/);
  assert.match(text, /No peer wins over isolane boxed\./);
});

test("E-14: a peer that wins is named, at the percentile at which it wins", () => {
  const text = markdown([...own, line("other", "one call", 500, 400)], ["other"], []);
  assert.match(text, /- other is faster at "one call, p99": 2\.0x\./);
  assert.doesNotMatch(text, /"one call, p50"/);
  assert.doesNotMatch(text, /- isolane in-process is/);
});

test("E-14: what a peer cannot do is a dash with its reason", () => {
  const text = markdown([...own, line("other", "one call", null, null, "it has no calls")], ["other"], []);
  assert.match(text, /\(0\.50x\) \| - \[1\] \|/);
  assert.match(text, /- \[1\] other, one call: it has no calls\./);
});

test("E-14: without isolane's lines there is no ratio and no winner", () => {
  const text = markdown([line("other", "one call", 500, 600)], ["other"], ["isolane: no such bench"]);
  assert.match(text, /\| one call, p50 \| - \| - \| 500 us \|/);
  assert.doesNotMatch(text, /wins/);
  assert.match(text, /- isolane: no such bench\./);
});

test("a value has three digits and the unit that reads best", () => {
  assert.deepEqual(
    [show(4.567, "us"), show(999, "us"), show(1234, "us"), show(2.5e6, "us"), show(700, "KiB"), show(15000, "KiB")],
    ["4.57 us", "999 us", "1.23 ms", "2.50 s", "700 KiB", "14.6 MiB"],
  );
});
