/** The gateway under load as a process of its own: a null policy, a real tokenizer, a store on disk. One line per report. */
import { argv, cpuUsage, memoryUsage, stdin, threadCpuUsage } from "node:process";
import { createInterface } from "node:readline";
import { platform } from "#platform";
import { createApp } from "../../gateway/app.ts";
import { listen } from "../app/listen.ts";
import { openNullModel } from "../app/open_null_model.ts";
import { openStore } from "../app/open_store.ts";
import type { HostPlatform } from "../schema/platform.ts";
import type { LoadReport } from "./load_report.ts";

const [, , modelFolder = "", storeFile = "", replyTokens = "16"] = argv;

const host = platform as HostPlatform;
const store = await openStore(host, storeFile);
const recorded = { calls: 0, roots: 0, delivered: 0, abandoned: 0 };
const append = store.append.bind(store);
store.append = async (events) => {
  for (const event of events) {
    if (event.type === "call_recorded") {
      recorded.calls++;
      recorded.roots += event.call.parent === null ? 1 : 0;
    } else if (event.type === "call_delivery") recorded[event.delivery]++;
  }
  return await append(events);
};
const model = await openNullModel(host, modelFolder, Number(replyTokens));
const faults: string[] = [];
const app = createApp({
  store,
  model,
  clock: platform.clock,
  entropy: platform.entropy,
  report: (fault) => faults.push(String(fault)),
});
const served = await listen(host, app, { host: "127.0.0.1", port: 0 });
host.terminal.out(`${JSON.stringify({ url: served.url })}\n`);

/** CPU of this thread, which serves, and of all others, which encode, in milliseconds. */
function report(): LoadReport {
  const all = cpuUsage();
  const own = threadCpuUsage();
  const servingMs = (own.user + own.system) / 1000;
  const { rss, heapUsed, external } = memoryUsage();
  const othersMs = (all.user + all.system) / 1000 - servingMs;
  return { servingMs, othersMs, rss, heapUsed, external, ...recorded, faults: faults.length };
}

for await (const line of createInterface({ input: stdin })) {
  if (line === "close") break;
  host.terminal.out(`${JSON.stringify(report())}\n`);
}
await served.close(1000);
await model.engine.close();
await store.close();
