// One library doing one piece of work: serve.mjs PEER WORK, as src/bench/peer_process.ts starts it.
//
// Prints one JSON line when it is ready, {"library":"jax-js 0.1.25"}, or {"absent":"why"} and ends. Then each line
// "step N" on standard input runs N steps and waits for the last, answered by {"ms","cpu_ms","value"}: milliseconds of
// one step, and what it computed (the loss, or the product's first element). It ends with its input.
import process from "node:process";
import { createInterface } from "node:readline";
import { peerWorks } from "../../../src/bench/peer_work.ts";

const peers = {
  "jax-js-webgpu": async (work) => (await import("./jax.mjs")).open(work, "webgpu"),
  "jax-js-wasm": async (work) => (await import("./jax.mjs")).open(work, "wasm"),
  "tfjs-webgpu": async (work) => (await import("./tfjs.mjs")).open(work),
  "ort-webgpu": async (work) => (await import("./ort.mjs")).open(work, "webgpu"),
  "ort-cpu": async (work) => (await import("./ort.mjs")).open(work, "cpu"),
};

// Standard output is the protocol's; libraries greet on it.
for (const name of ["log", "info", "debug"]) console[name] = console.error;
const answer = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function measure(runner, count) {
  const cpu = cpuMs();
  const start = performance.now();
  await runner.run(count);
  const ms = (performance.now() - start) / count;
  const spent = (cpuMs() - cpu) / count;
  return { ms, cpu_ms: spent, value: await runner.value() };
}

async function open(peer, work) {
  try {
    return await peers[peer](peerWorks[work]);
  } catch (thrown) {
    answer({ absent: String(thrown?.message ?? thrown).split("\n")[0] });
    process.exit(0);
  }
}

const runner = await open(process.argv[2], process.argv[3]);
answer({ library: runner.library });
for await (const line of createInterface({ input: process.stdin })) {
  answer(await measure(runner, Number(line.split(" ")[1])));
}
// Dawn's threads would keep the process.
process.exit(0);
