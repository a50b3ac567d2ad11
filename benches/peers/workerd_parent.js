// The parent Worker inside workerd: loads a fresh Dynamic Worker for each program it is sent and calls its `evaluate`
// with the tools. The program has no network of its own.

import { RpcTarget } from "cloudflare:workers";

class Tools extends RpcTarget {
  async noop({ n }) {
    return n;
  }
  async echo({ text }) {
    return text;
  }
}

class HostTools extends RpcTarget {
  #host;
  constructor(host) {
    super();
    this.#host = host;
  }
  noop(args) {
    return this.#call("noop", args);
  }
  echo(args) {
    return this.#call("echo", args);
  }
  /** Comes back when the host lets go: what keeps a program, and so its isolate, waiting. */
  hold() {
    return this.#call("hold");
  }
  async #call(name, args = {}) {
    const answer = await this.#host.fetch(`http://host/${name}`, { method: "POST", body: JSON.stringify(args) });
    return await answer.json();
  }
}

const guest = (program) => `import { WorkerEntrypoint } from "cloudflare:workers";
export default class extends WorkerEntrypoint {
  async evaluate(tools) {${program}
  }
}`;

export default {
  async fetch(request, env) {
    const program = await request.text();
    const { pathname } = new URL(request.url);
    if (pathname === "/nothing") return Response.json(1);
    const worker = env.LOADER.load({
      compatibilityDate: "2026-11-01",
      mainModule: "guest.js",
      modules: { "guest.js": guest(program) },
      globalOutbound: null,
    });
    const tools = pathname === "/remote" ? new HostTools(env.HOST) : new Tools();
    return Response.json(await worker.getEntrypoint().evaluate(tools));
  },
};
