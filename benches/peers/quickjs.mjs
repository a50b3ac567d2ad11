// quickjs-emscripten: a new runtime and context for each program (`newContext`), in one WebAssembly module.
// Tools are a function that gives a promise of the context, as its README shows; arguments and results cross as JSON
// text, because a handle for each value is slower.

import { measure, requireOf, tools, versionOf } from "./common.mjs";

const require = requireOf("quickjs");
const quickjs = await require("quickjs-emscripten").getQuickJS();

const BRIDGE = `globalThis.tools = {};
for (const name of ["noop", "echo"])
  tools[name] = async (args) => JSON.parse(await call(name, JSON.stringify(args)));`;

async function open() {
  const vm = quickjs.newContext();
  vm.newFunction("call", (name, args) => {
    const answer = vm.newPromise();
    tools[vm.getString(name)](JSON.parse(vm.getString(args))).then((value) =>
      vm.newString(JSON.stringify(value)).consume((handle) => answer.resolve(handle)),
    );
    answer.settled.then(vm.runtime.executePendingJobs);
    return answer.handle;
  }).consume((handle) => vm.setProp(vm.global, "call", handle));
  vm.unwrapResult(vm.evalCode(BRIDGE)).dispose();
  return {
    async run(text) {
      const promise = vm.unwrapResult(vm.evalCode(`(async () => {${text}\n})()`));
      const settled = promise.consume((handle) => vm.resolvePromise(handle));
      vm.runtime.executePendingJobs();
      return vm.unwrapResult(await settled).consume((handle) => vm.dump(handle));
    },
    close: () => vm.dispose(),
  };
}

await measure({
  name: "quickjs-emscripten",
  version: `${versionOf("quickjs", "quickjs-emscripten")}, Node.js ${process.versions.node}`,
  open,
});
