// isolated-vm: a fresh isolate and context for each program, as its README shows.
// Tools are a Reference that is applied with copies and gives a promise, so that calls can be in flight together.
// Synchronous calls make the sandbox, because they are faster here than the asynchronous ones. Its README advises
// against snapshots ("You should not use this feature"), so there is none.

import { measure, requireOf, tools, versionOf } from "./common.mjs";

const require = requireOf("isolated-vm");
const ivm = require("isolated-vm");

const PARALLEL = `globalThis.tools = {};
for (const name of ["noop", "echo"])
  tools[name] = (args) =>
    $0.apply(undefined, [name, args], { arguments: { copy: true }, result: { promise: true, copy: true } });`;
const BLOCKING = `globalThis.tools = {};
for (const name of ["noop", "echo"])
  tools[name] = (args) => $0.applySyncPromise(undefined, [name, args], { arguments: { copy: true } });`;

const open = (bridge) => async () => {
  const isolate = new ivm.Isolate({ memoryLimit: 128 });
  const context = isolate.createContextSync();
  context.evalClosureSync(bridge, [new ivm.Reference((name, args) => tools[name](args))]);
  return {
    run: (text) =>
      context.evalClosure(`return (async () => {${text}\n})()`, [], { result: { promise: true, copy: true } }),
    close: () => isolate.dispose(),
  };
};

const blocking = {
  text: "with applySyncPromise, which holds the program until the tool is done",
  open: open(BLOCKING),
};
await measure({
  name: "isolated-vm",
  version: `${versionOf("isolated-vm", "isolated-vm")}, Node.js ${process.versions.node}`,
  open: open(PARALLEL),
  also: ["sequential call", "1 MiB in and out"].map((name) => ({ case: name, ...blocking })),
});
