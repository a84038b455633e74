import { mkdtempSync, rmSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { createApp } from "../../../gateway/app.ts";
import { serveNode } from "../../../gateway/serve_node.ts";
import { parseConfig } from "../../../src/experiment/config.ts";
import { RunView } from "../../../src/experiment/run_view.ts";
import { systemClock, systemEntropy } from "../../../src/platform/clock.ts";
import { nodeFiles } from "../../../src/platform/node_files.ts";
import { nodeSqlite } from "../../../src/platform/node_sqlite.ts";
import type { PageFiles } from "../../../src/schema/page_files.ts";
import type { RunControl, RunStatus } from "../../../src/schema/run_control.ts";
import type { Store } from "../../../src/schema/store.ts";
import { openSqlStore } from "../../../src/store/sql_store.ts";
import { groupSize, groupsPerUpdate, recordedMetrics, recordRun } from "./recorded_run.ts";
import { wordModel } from "./word_model.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** A gateway on loopback with a recorded run and the studio around it. */
export interface StudioSite {
  readonly url: string;
  readonly store: Store;
  /** What the model says next. */
  reply: string;
  close(): Promise<void>;
}

async function bundled(entry: string, format: "esm" | "iife"): Promise<Uint8Array> {
  const { outputFiles = [] } = await esbuild.build({
    bundle: true,
    write: false,
    minify: true,
    logLevel: "silent",
    conditions: ["browser"],
    entryPoints: [join(root, entry)],
    format,
    platform: "browser",
    jsx: "automatic",
    jsxImportSource: "hono/jsx/dom",
  });
  return (outputFiles[0] as esbuild.OutputFile).contents;
}

/** Built once, however many sites a test serves. */
let built: Promise<PageFiles> | null = null;

async function pageFiles(): Promise<PageFiles> {
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Studio</title>
<link rel="icon" href="data:,"><meta name="viewport" content="width=device-width"><link rel="stylesheet" href="report.css">
</head><body><main id="studio"></main><script type="module" src="studio.js"></script></body></html>`;
  const files = new Map<string, [bytes: Uint8Array, type: string]>([
    ["index.html", [new TextEncoder().encode(html), "text/html; charset=utf-8"]],
    ["studio.js", [await bundled("test/page/support/studio_entry.ts", "esm"), "text/javascript; charset=utf-8"]],
    ["report.js", [await bundled("gateway/studio/client/report.ts", "iife"), "text/javascript; charset=utf-8"]],
    ["report.css", [await bundled("src/app/page/report.css", "esm"), "text/css; charset=utf-8"]],
  ]);
  return {
    async get(path) {
      const file = files.get(path);
      return file === undefined ? null : { bytes: file[0], type: file[1], etag: `"${path}"` };
    },
  };
}

const config = parseConfig({
  model: { path: "model" },
  task: { dataset: "tasks.ts" },
  rollout: { command: ["node", "agent.ts"], reward: "grader", grader: "numeric" },
  train: { updates: 200, groupSize, tasksPerUpdate: groupsPerUpdate, learningRate: 0.0004 },
});

function steered(updates: number): RunControl {
  const status = {
    phase: "running",
    experiment: "calc",
    update: updates,
    updates: 200,
    config,
    adapter: "software",
    runtime: "node",
    startup: null,
    error: null,
  } as RunStatus;
  const done = async (): Promise<void> => {};
  return {
    status: () => status,
    choices: async () => [],
    pause: done,
    resume: done,
    step: done,
    stop: done,
    onChange: () => () => {},
  };
}

/**
 * What is served: `run`, one at work; `calls`, recorded calls without one, as of `leyden serve`; `nothing` to look into.
 */
type Served = "run" | "calls" | "nothing";

/** Records a run of `groups` groups of 8 rollouts in a SQLite store and serves it. */
export async function serveStudio(groups: number, what: Served = "run"): Promise<StudioSite> {
  const folder = mkdtempSync(join(tmpdir(), "leyden-studio-"));
  const run = join(folder, "calc-seed-1");
  const start = systemClock.now() / 1000 - groups * 2;
  const updates = Math.max(1, Math.floor(groups / groupsPerUpdate));
  for (const [name, seed] of [
    ["calc-seed-1", 1],
    ["calc-seed-2", 3],
  ] as const) {
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, "metrics.jsonl"), recordedMetrics(updates, start, seed));
    await writeFile(
      join(folder, name, "config.json"),
      JSON.stringify({ ...config, seed, train: { ...config.train, learningRate: (4 * seed) / 10_000 } }),
    );
  }
  const lease = { owner: "studio-test" };
  const store = await openSqlStore({ driver: nodeSqlite, clock: systemClock, path: join(run, "store.sqlite"), lease });
  await recordRun(store, groups, start);
  const shown = {
    run: { runFolder: run, name: "calc-seed-1", config },
    calls: { runFolder: "", name: "leyden serve", config: null },
  };
  built ??= pageFiles();
  const site = { store, reply: "The answer is 42, I am quite sure." };
  const app = createApp({
    store,
    model: wordModel(
      () => site.reply,
      () => systemClock.now() / 1000,
    ),
    clock: systemClock,
    entropy: systemEntropy,
    config: { key: "admin", modelName: "policy" },
    ...(what === "run" ? { control: steered(updates) } : {}),
    ...(what === "nothing" ? {} : { studio: new RunView({ store, files: nodeFiles, ...shown[what] }) }),
    page: await built,
  });
  const served = await serveNode(app, { host: "127.0.0.1", port: 0 });
  return Object.assign(site, {
    url: served.url,
    async close() {
      await served.close(2000);
      await store.close();
      rmSync(folder, { recursive: true });
    },
  });
}
