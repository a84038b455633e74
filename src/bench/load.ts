import { Agent } from "node:http";
import { availableParallelism, cpus, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { initModel } from "../app/init_model.ts";
import { modelPresets } from "../app/model_presets.ts";
import { type Answered, LoadClient, post } from "./load_clients.ts";
import { LoadProcess } from "./load_process.ts";
import type { LoadReport } from "./load_report.ts";
import { type BenchContext, type FactValue, type Measurement, type Suite, summarizeSamples } from "./suite.ts";

const clients = 200;
/** Characters of each conversation's first message. */
const firstCharacters = 80_000;
const replyTokens = 16;
/** Length of a window in which CPU per request is taken, and of the echo's part. */
const windowMs = 1000;
const echoMs = 4000;
/** Parts of the run, each after an echo's. */
const parts = 5;

const tokenizer = fileURLToPath(new URL("../../examples/trial/model", import.meta.url));
const script = (name: string): URL => new URL(`./${name}`, import.meta.url);

/** `leyden bench load`: the gateway alone, under clients that continue long conversations. */
export const loadSuite: Suite = {
  name: "load",
  summary: `The gateway under ${clients} streaming clients with ${firstCharacters / 1000} kB of history, beside a bare Hono echo.`,
  run: load,
};

/** What a window of the run had. */
interface Window {
  readonly requests: number;
  readonly servingMs: number;
  readonly othersMs: number;
  readonly rss: number;
}

async function* load(context: BenchContext): AsyncIterable<Measurement> {
  const { platform } = context;
  const folder = platform.files.join(platform.cacheFolder, "bench-load");
  await platform.files.remove(folder);
  const init = { seed: 1, std: 0.02 };
  const preset = modelPresets.scripted as NonNullable<(typeof modelPresets)[string]>;
  const model = platform.files.join(folder, "model");
  await initModel(platform.files, { preset, tokenizer, out: model, init });
  const store = platform.files.join(folder, "store.sqlite");
  const server = await LoadProcess.start([
    ...platform.scriptCommand(script("load_server.ts")),
    model,
    store,
    String(replyTokens),
  ]);
  const echo = await LoadProcess.start([...platform.scriptCommand(script("load_echo.ts"))]);
  try {
    yield* measure(context, server, echo);
  } finally {
    await Promise.all([server.close(), echo.close()]);
    await platform.files.remove(folder);
  }
}

async function* measure(context: BenchContext, server: LoadProcess, echo: LoadProcess): AsyncIterable<Measurement> {
  const { clock, seconds } = context;
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  const first: Answered = { latencies: [], lost: 0, lastLoss: "" };
  const answered: Answered = { latencies: [], lost: 0, lastLoss: "" };
  const rollouts = Array.from({ length: clients }, (_, name) => ({ rollout_id: `load-${name}`, input: name }));
  await post(agent, new URL(`${server.url}/api/rollouts`), JSON.stringify(rollouts));
  const beginning = rollouts.map((_, name) => new LoadClient(agent, server.url, name, firstCharacters, first, clock));
  const startedAt = clock.monotonic();
  const before = await server.ask<LoadReport>("report");
  await Promise.all(beginning.map((client) => client.begin()));
  const begun = await server.ask<LoadReport>("report");
  yield {
    name: "load_first_turns",
    samples: first.latencies,
    facts: {
      clients,
      lost: first.lost,
      seconds: (clock.monotonic() - startedAt) / 1000,
      servingMsPerRequest: (begun.servingMs - before.servingMs) / clients,
      othersMsPerRequest: (begun.othersMs - before.othersMs) / clients,
    },
  };
  for (const client of beginning) client.answered = answered;
  // In turns: what else the machine does meets both.
  const echoed: number[] = [];
  const windows: Window[] = [];
  for (let part = 0; part < parts; part++) {
    const echoUrl = new URL(echo.url);
    echoed.push(await rateOf(clients, echoMs, clock, () => post(agent, echoUrl, beginning[0]?.body ?? "")));
    windows.push(...(await run(context, server, beginning, answered, (seconds * 1000) / parts)));
  }
  const echoRate = summarizeSamples(echoed).median;
  const end = await server.ask<LoadReport>("report");
  yield { name: "load", samples: answered.latencies, facts: factsOf(windows, answered, end, begun, echoRate) };
  agent.destroy();
}

/** All clients in a closed loop until the time is up; a report of the server per window. */
async function run(
  { clock, note }: BenchContext,
  server: LoadProcess,
  all: readonly LoadClient[],
  answered: Answered,
  ms: number,
): Promise<Window[]> {
  const end = clock.monotonic() + ms;
  const loops = all.map(async (client) => {
    while (clock.monotonic() < end) await client.turn();
  });
  const windows: Window[] = [];
  let last = await server.ask<LoadReport>("report");
  let done = 0;
  while (clock.monotonic() < end) {
    await clock.sleep(windowMs);
    const now = await server.ask<LoadReport>("report");
    const count = answered.latencies.length;
    windows.push({
      requests: count - done,
      servingMs: now.servingMs - last.servingMs,
      othersMs: now.othersMs - last.othersMs,
      rss: now.rss,
    });
    [last, done] = [now, count];
    if (windows.length % 30 === 0) note(`load: ${count} replies, ${Math.round(now.rss / 2 ** 20)} MiB`);
  }
  await Promise.all(loops);
  return windows;
}

/** Requests per second of a closed loop of `width` clients. */
async function rateOf(
  width: number,
  ms: number,
  clock: BenchContext["clock"],
  send: () => Promise<unknown>,
): Promise<number> {
  const startedAt = clock.monotonic();
  let count = 0;
  const loop = async () => {
    while (clock.monotonic() < startedAt + ms) {
      await send();
      count++;
    }
  };
  await Promise.all(Array.from({ length: width }, loop));
  return (count * 1000) / (clock.monotonic() - startedAt);
}

function factsOf(
  windows: readonly Window[],
  { latencies, lost, lastLoss }: Answered,
  end: LoadReport,
  begun: LoadReport,
  echoRate: number,
): Readonly<Record<string, FactValue>> {
  const full = windows.filter(({ requests }) => requests > 0);
  const median = (of: (window: Window) => number) => summarizeSamples(full.map(of)).median;
  const rate = median(({ requests }) => (requests * 1000) / windowMs);
  const fifth = Math.max(1, Math.floor(windows.length / 5));
  const mib = (part: readonly Window[]) => summarizeSamples(part.map(({ rss }) => rss)).median / 2 ** 20;
  return {
    clients,
    firstCharacters,
    seconds: windows.length,
    replies: latencies.length,
    lost,
    ...(lastLoss === "" ? {} : { lastLoss }),
    recorded: end.calls - begun.calls,
    delivered: end.delivered - begun.delivered,
    continued: end.calls - end.roots - (begun.calls - begun.roots),
    faults: end.faults,
    repliesPerSecond: rate,
    servingMsPerRequest: median((window) => window.servingMs / window.requests),
    othersMsPerRequest: median((window) => window.othersMs / window.requests),
    echoPerSecond: echoRate,
    ratioToEcho: rate / echoRate,
    load1: loadavg()[0] ?? 0,
    rssMiBEarly: mib(windows.slice(fifth, 2 * fifth)),
    rssMiBLate: mib(windows.slice(-fifth)),
    cpu: cpus()[0]?.model ?? "",
    cores: availableParallelism(),
  };
}
