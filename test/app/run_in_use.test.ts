// Another process is at work on the run: what is on disk stays as it is. Plan: a store that is written; a folder in which
// another process trains, on Node and on Deno, for agents and completions, in memory and in SQLite, fresh or resumed; one
// that has let it go, or was killed; one that lost it while it slept.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { openStore } from "../../src/app/open_store.ts";
import { runExperiment } from "../../src/app/run_experiment.ts";
import { holdRun } from "../../src/app/run_hold.ts";
import { parseConfig } from "../../src/experiment/config.ts";
import { freshRunState, RunFolder } from "../../src/experiment/run_folder.ts";
import { platform } from "../../src/platform/node.ts";

const folder = await mkdtemp(join(tmpdir(), "leyden-in-use-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

const app = new URL("../../src/app/", import.meta.url).href;
const platforms = new URL("../../src/platform/", import.meta.url).href;
const deno = new URL("../../node_modules/.bin/deno", import.meta.url).pathname;
const denoConfig = new URL("../../deno.json", import.meta.url).pathname;
/** Holds a run's folder and says so; ends when its input does, or is killed. */
const holder = (runtime: string, run: string): string => `
const { platform } = await import("${platforms}${runtime}.ts");
const { holdRun } = await import("${app}run_hold.ts");
await holdRun(platform, ${JSON.stringify(run)});
console.log("held");
setInterval(() => {}, 1000);`;

/** Starts a process that holds a run's folder. */
async function heldBy(runtime: "node" | "deno", run: string) {
  const script = join(folder, `${runtime}-holder.mjs`);
  await writeFile(script, holder(runtime, run));
  const child = spawn(...commandOf(runtime, script), { stdio: ["ignore", "pipe", "inherit"] });
  expect(String((await once(child.stdout, "data"))[0])).toContain("held");
  return child;
}

function commandOf(runtime: "node" | "deno", script: string): [string, string[]] {
  return runtime === "node"
    ? [process.execPath, [script]]
    : [deno, ["run", "-A", "--no-check", "--config", denoConfig, script]];
}

/** Trains in a folder, with a model that is not there: as far as it comes. */
async function train(run: string, kind: "sqlite" | "memory", rollout: object, resume: boolean): Promise<unknown> {
  await writeFile(join(folder, "data.mjs"), "export const dataset = { heldOut: [], train() {} };");
  const config = parseConfig({ model: { path: "m" }, task: { dataset: "data.mjs" }, rollout, store: { kind } });
  const reporter = { rollouts() {}, failures() {}, update() {}, validation() {} };
  const { signal } = new AbortController();
  const places = { configFolder: folder, runFolder: run };
  return runExperiment(platform, { config, ...places, resume, signal, reporter, say() {} }).catch((thrown) => thrown);
}

describe("a run's folder", () => {
  it.each(["node", "deno"] as const)(
    "has one training process, which %s says who it is; one that was killed holds nothing",
    async (runtime) => {
      const run = join(folder, `held-by-${runtime}`);
      const child = await heldBy(runtime, run);
      for (const kind of ["sqlite", "memory"] as const) {
        for (const rollout of [{ command: ["true"] }, { completion: "c.mjs" }]) {
          for (const resume of [false, true]) {
            expect(await train(run, kind, rollout, resume)).toMatchObject({
              code: "run_in_use",
              message: `Process ${child.pid} on ${hostname()} trains in ${run}.`,
              do: "Wait until it has ended, or stop it, then pass --resume; or pass --out with another folder.",
              exitCode: 2,
              data: { folder: run, host: hostname(), pid: child.pid },
            });
          }
        }
      }
      child.kill("SIGKILL");
      await once(child, "exit");
      const before = performance.now();
      (await holdRun(platform, run)).release();
      expect(performance.now() - before).toBeLessThan(5_000);
    },
    120_000,
  );

  it("is held by Deno as by Node", async () => {
    const run = join(folder, "held-here");
    const hold = await holdRun(platform, run);
    const script = join(folder, "second.mjs");
    await writeFile(script, holder("deno", run));
    const second = promisify(execFile)(...commandOf("deno", script));
    await expect(second).rejects.toMatchObject({
      stderr: expect.stringContaining(`Process ${process.pid} on ${hostname()} trains in ${run}.`),
    });
    hold.release();
  }, 60_000);

  it("is let go when a run ends, however it does", async () => {
    const run = join(folder, "ends");
    for (let i = 0; i < 2; i++) {
      expect(await train(run, "memory", { command: ["true"] }, false)).toMatchObject({ code: "file_missing" });
    }
  });

  it("is not written by a process that another has taken it from while it slept", async () => {
    const run = join(folder, "slept");
    let now = 0;
    const sleeping = {
      ...platform,
      clock: { ...platform.clock, now: () => now, sleep: () => new Promise<void>(() => {}) },
    };
    const first = await holdRun(sleeping, run);
    const taken = new RunFolder(platform.files, run, first.check);
    await taken.appendMetrics({ step: 1 });
    now = 60_000;
    const second = await holdRun(sleeping, run);
    const writes = [
      () => taken.appendMetrics({ step: 2 }),
      () => taken.writeCheckpoint({ ...freshRunState, configSha256: "" }, {}),
      () => taken.truncateMetrics(0),
      () => taken.pruneCheckpoints(1),
      () => taken.writeResult({}),
      () =>
        taken.writeConfig(parseConfig({ model: { path: "m" }, task: { dataset: "d" }, rollout: { command: ["c"] } })),
    ];
    for (const write of writes) await expect(write()).rejects.toMatchObject({ code: "store_fenced" });
    expect(await readFile(join(run, "metrics.jsonl"), "utf8")).toBe('{"step":1}\n');
    expect(await platform.files.exists(join(run, "checkpoints"))).toBe(false);
    first.release();
    expect(() => second.check()).not.toThrow();
    second.release();
  });
});

it("leaves the metrics and the configuration of a run in use alone", async () => {
  const recorded = { model: { path: "m" }, task: { dataset: "data.mjs" }, rollout: { command: ["true"] } };
  const files = { "metrics.jsonl": '{"step":1}\n', "config.json": JSON.stringify(recorded) };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  await writeFile(join(folder, "data.mjs"), "export const dataset = { heldOut: [], train() {} };");
  const other = await openStore(platform, join(folder, "store.sqlite"));
  const config = parseConfig(recorded);
  const reporter = { rollouts() {}, failures() {}, update() {}, validation() {} };
  const signal = new AbortController().signal;
  const places = { configFolder: folder, runFolder: folder };
  const run = runExperiment(platform, { config, ...places, resume: true, signal, reporter, say() {} });
  await expect(run).rejects.toMatchObject({ code: "store_in_use" });
  for (const [name, text] of Object.entries(files)) expect(await readFile(join(folder, name), "utf8")).toBe(text);
  await other.close();
});
