/** A run on completions with what surrounds one on agents: every metric, /metrics and the studio at a port, spans. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadConfig } from "../../src/app/load_config.ts";
import { runExperiment } from "../../src/app/run_experiment.ts";
import { watchedRun } from "../../src/app/watched_run.ts";
import { platform } from "../../src/platform/node.ts";
import { missing, scoredNames, updateNames, validationNames } from "../experiment/spec_metrics.ts";

const digits = new URL("../../examples/digits", import.meta.url).pathname;
const sizes = ["train.updates=1", "train.tasksPerUpdate=24", "eval.every=1", "eval.tasks=8"];
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leyden-services-"));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

interface Span {
  name: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
}

/** A collector of spans by OTLP/HTTP. */
async function collector(): Promise<{ url: string; spans: Span[]; close(): void }> {
  const spans: Span[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on("end", () => {
      const { resourceSpans = [] } = JSON.parse(body) as { resourceSpans?: { scopeSpans: { spans: Span[] }[] }[] };
      spans.push(...resourceSpans.flatMap((r) => r.scopeSpans.flatMap((s) => s.spans)));
      response.setHeader("content-type", "application/json").end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, spans, close: () => server.close() };
}

describe("a run on completions", () => {
  it("states every metric, serves them at its port, and sends its spans", async () => {
    const { config, folder: configFolder } = await loadConfig(platform.files, digits, sizes);
    const runFolder = join(folder, "run");
    const otel = await collector();
    const said: string[] = [];
    const seen: string[] = [];
    let url = "";
    const place = { config, configFolder, runFolder };
    const watched = watchedRun(platform, { ...place, say: (line) => said.push(line), stop: () => {} });
    await runExperiment(platform, {
      ...{ ...place, ...watched, resume: false, signal: new AbortController().signal, port: 0, otel: otel.url },
      reporter: { rollouts() {}, failures() {}, update() {}, validation() {} },
      say: (line) => said.push(line),
      served: (address) => {
        url = address;
      },
      linger: async () => {
        seen.push(await (await fetch(`${url}/metrics`)).text());
        const headers = { authorization: `Bearer ${watched.key}` };
        seen.push(await (await fetch(`${url}/studio/api/metrics`, { headers })).text());
      },
    });
    otel.close();
    const line = JSON.parse((await readFile(join(runFolder, "metrics.jsonl"), "utf8")).trim()) as Record<
      string,
      number
    >;
    expect(missing(line, [...updateNames, ...scoredNames, ...validationNames])).toEqual([]);
    // What was drawn is what is scored: cached and batched here, packed there.
    expect(line["training/logprob_diff_max"]).toBeLessThan(1e-4);
    expect(line["training/logprob_diff_n"]).toBe(line["training/n_tokens"]);
    expect(line["device/decode_s"]).toBeGreaterThan(0);
    expect(line["device/train_s"]).toBeGreaterThan(0);
    const parts = ["gen", "adv", "old_log_prob", "ref", "values", "update_critic", "update_actor"];
    const sum = parts.reduce((n, part) => n + (line[`timing_s/${part}`] as number), 0);
    expect(sum).toBeLessThanOrEqual(line["timing_s/step"] as number);

    const [metrics = "", studio = ""] = seen;
    expect(metrics).toContain(`leyden_run_training_reward ${line["training/reward"]}`);
    expect(metrics).toMatch(/^leyden_device_seconds_total\{kind="train"\} [0-9.]+$/m);
    expect(studio).toContain('"actor/pg_loss"');
    const [span] = otel.spans as [Span];
    expect(otel.spans.map(({ name }) => name)).toEqual(["update 1"]);
    const seconds = (nanos: string): number => Number(BigInt(nanos) / 1000n) / 1e6;
    expect(seconds(span.startTimeUnixNano)).toBeCloseTo(line["timing/step_start_wall"] as number, 1);
    expect(seconds(span.endTimeUnixNano)).toBeCloseTo(line.time as number, 3);
    expect(said).toEqual([]);
  }, 240_000);
});
