// The end of the line protocol inside the deno subprocess: takes one program, gives it `tools`, says what it returned.
// It uses no permission.

const encoder = new TextEncoder();
const waiting = new Map();
let calls = 0;

function send(message) {
  let bytes = encoder.encode(`${JSON.stringify(message)}\n`);
  while (bytes.length > 0) bytes = bytes.subarray(Deno.stdout.writeSync(bytes));
}

const call = (tool) => (args) =>
  new Promise((resolve) => {
    waiting.set(++calls, resolve);
    send({ id: calls, tool, args });
  });
const tools = { noop: call("noop"), echo: call("echo") };

async function receive({ program, id, value }) {
  if (program === undefined) {
    waiting.get(id)(value);
    waiting.delete(id);
  } else {
    const body = Object.getPrototypeOf(receive).constructor("tools", program);
    send({ value: await body(tools) });
  }
}

send({ value: "ready" });
const decoder = new TextDecoder();
const buffer = new Uint8Array(1 << 16);
let rest = [];
for (let length; (length = await Deno.stdin.read(buffer)) !== null; ) {
  const text = decoder.decode(buffer.subarray(0, length), { stream: true });
  let from = 0;
  for (let to; (to = text.indexOf("\n", from)) >= 0; from = to + 1) {
    rest.push(text.slice(from, to));
    receive(JSON.parse(rest.join("")));
    rest = [];
  }
  if (from < text.length) rest.push(text.slice(from));
}
