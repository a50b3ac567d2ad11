// A deno subprocess for each program, without any permission: `deno run --no-prompt`.
// Program, calls and results are lines of JSON on standard input and output; the other end is `deno_guest.js`.
// A process is one sandbox and ends with its program.

import { spawn } from "node:child_process";
import { join } from "node:path";

import { home, measure, requireOf, tools, versionOf } from "./common.mjs";

const require = requireOf("deno");
const binary = require.resolve(`@deno/linux-${process.arch}-glibc/deno`);
const guest = join(import.meta.dirname, "deno_guest.js");
const env = { DENO_DIR: join(home("deno"), "cache"), DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" };

async function open() {
  const child = spawn(binary, ["run", "--no-prompt", "--no-config", "--no-lock", "--no-remote", guest], {
    stdio: ["pipe", "pipe", "inherit"],
    env,
  });
  const send = (message) => child.stdin.write(`${JSON.stringify(message)}\n`);
  const ended = new Promise((end) => child.once("exit", end));
  let settle;
  let next = new Promise((resolve) => (settle = resolve));
  const receive = async ({ id, tool, args, value }) => {
    if (id === undefined) settle(value);
    else send({ id, value: await tools[tool](args) });
  };
  let rest = [];
  child.stdout.setEncoding("utf8");
  child.stdout.on("data", (text) => {
    // Joined once a line is whole: a line of 1 MiB comes in many pieces.
    let from = 0;
    for (let to; (to = text.indexOf("\n", from)) >= 0; from = to + 1) {
      rest.push(text.slice(from, to));
      receive(JSON.parse(rest.join("")));
      rest = [];
    }
    if (from < text.length) rest.push(text.slice(from));
  });
  await next;
  return {
    pid: child.pid,
    run(program) {
      next = new Promise((resolve) => (settle = resolve));
      send({ program });
      return next;
    },
    close() {
      child.kill("SIGKILL");
      return ended;
    },
  };
}

await measure({
  name: "deno subprocess",
  version: versionOf("deno", "deno"),
  open,
  processes: (sandboxes) => sandboxes.map((sandbox) => sandbox.pid),
  growth: false,
});
