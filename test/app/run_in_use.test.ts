// Another process is at work on the run: what is on disk stays as it is.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { openStore } from "../../src/app/open_store.ts";
import { runExperiment } from "../../src/app/run_experiment.ts";
import { parseConfig } from "../../src/experiment/config.ts";
import { platform } from "../../src/platform/node.ts";

const folder = await mkdtemp(join(tmpdir(), "leyden-in-use-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

it("leaves the metrics and the configuration of a run in use alone", async () => {
  const files = { "metrics.jsonl": '{"step":1}\n', "config.json": "{}\n" };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  await writeFile(join(folder, "data.mjs"), "export const dataset = { heldOut: [], train() {} };");
  const other = await openStore(platform, join(folder, "store.sqlite"));
  const config = parseConfig({
    model: { path: "m" },
    task: { dataset: "data.mjs" },
    rollout: { command: ["true"] },
  });
  const reporter = { rollouts() {}, failures() {}, update() {}, validation() {} };
  const signal = new AbortController().signal;
  const places = { configFolder: folder, runFolder: folder };
  const run = runExperiment(platform, { config, ...places, resume: true, signal, reporter, say() {} });
  await expect(run).rejects.toMatchObject({ code: "store_in_use" });
  for (const [name, text] of Object.entries(files)) expect(await readFile(join(folder, name), "utf8")).toBe(text);
  await other.close();
});
