// workerd: one process that stays, and in it a fresh Dynamic Worker for each program (`LOADER.load`), as its
// documentation recommends for code that runs once. The tools are in the parent Worker and reached by its own RPC,
// which is the fastest way that it has; reached in this process, by fetch on loopback, they are in the notes.
// Its worker loader needs `--experimental`. The Workers are in `workerd_parent.js`.

import { spawn } from "node:child_process";
import { copyFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";

import { home, measure, requireOf, tools, versionOf } from "./common.mjs";

const require = requireOf("workerd");
const arch = process.arch === "arm64" ? "arm64" : "64";
const binary = require.resolve(`@cloudflare/workerd-linux-${arch}/bin/workerd`);

/** Called with what lets go of a program that waits in `hold`. */
let held;

/** The tools again, for a program whose calls leave the process. */
const host = http.createServer(async (request, response) => {
  const args = JSON.parse(await body(request));
  if (request.url === "/hold") return held(() => response.end("1"));
  response.end(JSON.stringify(await tools[request.url.slice(1)](args)));
});
await new Promise((listening) => host.listen(0, "127.0.0.1", listening));

// A configuration embeds only files that are below it.
copyFileSync(join(import.meta.dirname, "workerd_parent.js"), join(home("workerd"), "parent.js"));
const config = join(home("workerd"), "config.capnp");
writeFileSync(
  config,
  `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .main),
    (name = "host", external = (address = "127.0.0.1:${host.address().port}", http = ())),
  ],
  sockets = [ (name = "http", address = "127.0.0.1:0", http = (), service = "main") ],
);
const main :Workerd.Worker = (
  modules = [ (name = "parent.js", esModule = embed "parent.js") ],
  compatibilityDate = "2026-11-01",
  bindings = [ (name = "LOADER", workerLoader = ()), (name = "HOST", service = "host") ],
);
`,
);
const child = spawn(binary, ["serve", "--experimental", "--control-fd=3", config], {
  stdio: ["ignore", "inherit", "inherit", "pipe"],
});
const port = await new Promise((resolve, reject) => {
  child.stdio[3].once("data", (text) => resolve(JSON.parse(text).port));
  child.once("exit", (code) => reject(new Error(`workerd ended with ${code}`)));
});

const agent = new http.Agent({ keepAlive: true });
const ask = (path, text) =>
  new Promise((resolve, reject) => {
    const request = http.request({ host: "127.0.0.1", port, path, method: "POST", agent }, async (response) => {
      const answer = await body(response);
      if (response.statusCode === 200) resolve(JSON.parse(answer));
      else reject(new Error(answer.slice(0, 200)));
    });
    request.once("error", reject);
    request.end(text);
  });

async function body(stream) {
  stream.setEncoding("utf8");
  let text = "";
  for await (const piece of stream) text += piece;
  return text;
}

const open = (path) => async () => ({ run: (text) => ask(path, text), close() {} });
const remote = { text: "with the tool in the host's process, by fetch on loopback", open: open("/remote") };

const CALLS = ["one call", "sequential call", "parallel call", "1 MiB in and out"];

try {
  await measure({
    name: "workerd",
    version: versionOf("workerd", "workerd"),
    open: open("/run"),
    startsInRun: true,
    openIdle: () =>
      new Promise((resolve, reject) => {
        held = (letGo) => resolve({ close: letGo });
        ask("/remote", "return await tools.hold();").catch(reject);
      }),
    processes: () => [child.pid],
    notes: {
      "start and return": "of a process that runs already, asked by HTTP on loopback",
      "idle sandbox": "a Dynamic Worker whose program waits in a call; none waits for its first program",
    },
    also: [
      { case: "start and return", text: "the request alone, with no program", open: open("/nothing") },
      ...CALLS.map((name) => ({ case: name, ...remote })),
    ],
  });
} finally {
  child.kill();
  host.close();
  agent.destroy();
}
