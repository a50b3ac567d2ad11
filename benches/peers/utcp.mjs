// @utcp/code-mode: `callToolChain` of one client, which makes an isolate of isolated-vm for each program.
// The tools are functions of this process (@utcp/direct-call), which its README shows; nothing is nearer.

import { measure, requireOf, tools, versionOf } from "./common.mjs";

const require = requireOf("utcp");
// The packages print a line for each call, which would be measured and would be among our lines.
console.log = () => {};
const { CodeModeUtcpClient } = require("@utcp/code-mode");
const { addFunctionToUtcpDirectCall } = require("@utcp/direct-call");

const describe = (name, property, type) => ({
  name,
  description: name,
  tags: [],
  inputs: { type: "object", properties: { [property]: { type } }, required: [property] },
  outputs: { type },
  tool_call_template: { call_template_type: "direct-call", callable_name: name },
});
addFunctionToUtcpDirectCall("manual", async () => ({
  utcp_version: "1.0.0",
  manual_version: "1.0.0",
  tools: [describe("noop", "n", "integer"), describe("echo", "text", "string")],
}));
// A direct call gets the values of the arguments, without their names.
addFunctionToUtcpDirectCall("noop", (n) => tools.noop({ n }));
addFunctionToUtcpDirectCall("echo", (text) => tools.echo({ text }));
const client = await CodeModeUtcpClient.create();
await client.registerManual({ name: "tools", call_template_type: "direct-call", callable_name: "manual" });

async function run(text) {
  const { result, logs } = await client.callToolChain(text);
  if (result === null) throw new Error(logs.join("\n"));
  return result;
}

await measure({
  name: "@utcp/code-mode",
  version: [
    versionOf("utcp", "@utcp/code-mode"),
    `isolated-vm ${versionOf("utcp", "isolated-vm")}`,
    `Node.js ${process.versions.node}`,
  ].join(", "),
  open: async () => ({ run, close() {} }),
  startsInRun: true,
  cannot: { "idle sandbox": "its isolate lives for one `callToolChain` only: there is none that waits" },
  notes: { "parallel call": "one after the other: its calls hold the program until the tool is done" },
});
// Its isolates can keep the process from ending.
process.kill(process.pid, "SIGKILL");
