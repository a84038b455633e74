// A run that ends without warning at any of its writes, and is resumed, ends as an undisturbed one does.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { parseConfig } from "../../src/experiment/config.ts";
import { Loop, type LoopResult } from "../../src/experiment/loop.ts";
import { alignStore } from "../../src/experiment/resume.ts";
import { freshRunState, RunFolder, type RunState } from "../../src/experiment/run_folder.ts";
import { nodeFiles } from "../../src/platform/node_files.ts";
import type { AccumulateResult, Engine, EngineInfo, EngineStats, UpdateResult } from "../../src/schema/engine.ts";
import type { ExperimentInput } from "../../src/schema/experiment.ts";
import type { Files } from "../../src/schema/files.ts";
import type { Store } from "../../src/schema/store.ts";
import type { TaskRow } from "../../src/schema/task.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { call } from "../store/samples.ts";

const folders: string[] = [];

afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

class Crash extends Error {}

/** Counts writes and ends the run before write number `at`; from then on nothing is written. */
class Fuse {
  private left: number;
  writes = 0;

  constructor(at: number) {
    this.left = at;
  }

  burn(): void {
    if (--this.left < 0) throw new Crash();
    this.writes++;
  }

  /** The writing function with the fuse before it. */
  on<Args extends unknown[]>(write: (...args: Args) => Promise<void>): (...args: Args) => Promise<void> {
    return async (...args) => {
      this.burn();
      await write(...args);
    };
  }
}

function fusedFiles(fuse: Fuse): Files {
  return {
    ...nodeFiles,
    write: fuse.on(nodeFiles.write),
    append: fuse.on(nodeFiles.append),
    rename: fuse.on(nodeFiles.rename),
    remove: fuse.on(nodeFiles.remove),
  };
}

/** The store as a run sees it: every rollout that is created succeeds at once, after a call. */
function fusedStore(store: Store, fuse: Fuse): Store {
  const fused = Object.create(store) as Store;
  fused.append = async (events) => {
    fuse.burn();
    await store.append(events);
    for (const event of events) {
      if (event.type !== "rollout_created") continue;
      const rolloutId = event.rollout.rollout_id;
      const patch = (state: "running" | "succeeded") =>
        ({ type: "rollout_patched", rolloutId, patch: { state, last_attempt_id: "0" }, at: 0 }) as const;
      const asked = { type: "call_recorded", call: call(`${rolloutId}-0`, rolloutId, [1], []) } as const;
      await store.append([patch("running"), asked, patch("succeeded")]);
    }
    return store.seq();
  };
  return fused;
}

/** An engine whose weights are the number of steps taken. */
function countingEngine(steps: number, version: number): Engine {
  const state = { steps, version };
  const fake: Partial<Engine> = {
    info: async () => ({ version: state.version, microBatchTokens: 1000 }) as EngineInfo,
    stats: async () => ({ deviceSeconds: { prefill: 0, decode: 0, train: 0, idle: 0 } }) as EngineStats,
    accumulate: async () => ({ logprobs: new Float32Array(0), trainMs: 0 }) as unknown as AccumulateResult,
    update: async () => {
      state.steps++;
      state.version++;
      return { version: state.version, skipped: null, loss: 0, logprobs: new Float32Array(0) } as UpdateResult;
    },
    snapshot: async () => ({
      version: state.version,
      optimizerSteps: state.steps,
      files: { "model.safetensors": Uint8Array.of(state.steps) },
      weightsSha256: String(state.steps),
    }),
  };
  return fake as Engine;
}

const fresh: RunState = { ...freshRunState, configSha256: "c" };

interface World {
  folder: string;
  store: MemoryStore;
  checkpointEvery: number;
  mode: ExperimentInput["schedule"];
}

const taskAt = (i: number): TaskRow => ({ id: `t${i}`, input: {}, hidden: {} });

/** One life of the run, as the application starts it: from the newest checkpoint, the store brought in line. */
async function live({ folder, store, checkpointEvery, mode }: World, fuse: Fuse): Promise<LoopResult> {
  const config = parseConfig({
    model: { path: "m" },
    task: { dataset: "d" },
    rollout: { command: ["c"] },
    train: { updates: 4, tasksPerUpdate: 2, groupSize: 2 },
    schedule: { ...mode, activeGroups: 3 },
    store: { checkpointEvery },
  });
  const run = new RunFolder(fusedFiles(fuse), folder);
  const checkpoint = await run.latestCheckpoint();
  const state = checkpoint?.state ?? fresh;
  const saved = checkpoint === null ? 0 : (await nodeFiles.read(join(checkpoint.folder, "model.safetensors")))[0];
  const fused = fusedStore(store, fuse);
  await run.truncateMetrics(state.update);
  await alignStore(fused, state, { changes: [], taskAt, groupSize: 2, isHooked: false, now: 0 });
  const loop = new Loop(
    {
      config,
      configSha256: "c",
      dataset: {
        train: () => ({ at: taskAt, length: Number.POSITIVE_INFINITY }),
        heldOut: [],
      },
      engine: countingEngine(saved ?? 0, state.version),
      store: fused,
      folder: run,
      clock: { now: () => 0, monotonic: () => 0, sleep: async () => {} },
      rolloutConfig: { timeout_seconds: 1, local: null, k8s: null },
      hooks: {},
      modelFiles: {},
      reporter: { rollouts() {}, failures() {}, update() {}, validation() {} },
      signal: new AbortController().signal,
    },
    state,
  );
  return loop.run();
}

async function world(checkpointEvery: number, mode: World["mode"] = { mode: "collocated" }): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), "leyden-crash-"));
  folders.push(folder);
  return { folder, store: new MemoryStore(), checkpointEvery, mode };
}

/** Updates as the log tells them, those that a crash undid left out, and the steps of metrics.jsonl. */
async function traces({ folder, store }: World): Promise<{ updates: number[]; groups: string[]; metrics: number[] }> {
  let updates: { update: number; groups: string[] }[] = [];
  for (const { name, data } of await store.log(0, 10_000)) {
    if (name === "update") updates.push(data as { update: number; groups: string[] });
    const from = name === "resumed" ? (data as { update: number }).update : Number.POSITIVE_INFINITY;
    updates = updates.filter((u) => u.update <= from);
  }
  const lines = (await nodeFiles.readText(join(folder, "metrics.jsonl"))).trimEnd().split("\n");
  return {
    updates: updates.map((u) => u.update),
    groups: updates.flatMap((u) => u.groups),
    metrics: lines.map((line) => (JSON.parse(line) as { step: number }).step),
  };
}

describe("a run that crashes at any write", () => {
  it.each([
    [1, { mode: "collocated" }],
    [3, { mode: "collocated" }],
    [1, { mode: "interleaved" }],
    [3, { mode: "interleaved", maxAge: 0 }],
  ] as const)(
    "loses no update, no group and no metrics line (checkpoint every %i, %j)",
    async (checkpointEvery, mode) => {
      const whole = await world(checkpointEvery, mode);
      const fuse = new Fuse(Number.POSITIVE_INFINITY);
      const undisturbed = await live(whole, fuse);
      const want = await traces(whole);
      expect(want.metrics).toEqual([1, 2, 3, 4]);
      expect(new Set(want.groups).size).toBe(8);
      for (let at = 0; at < fuse.writes; at++) {
        const cut = await world(checkpointEvery, mode);
        await expect(live(cut, new Fuse(at))).rejects.toThrow(Crash);
        const ended = await live(cut, new Fuse(Number.POSITIVE_INFINITY));
        expect({ at, ...ended, ...(await traces(cut)) }).toEqual({ at, ...undisturbed, ...want });
      }
    },
  );

  it("tells of a finished run what it told when it ended", async () => {
    const done = await world(1);
    const first = await live(done, new Fuse(Number.POSITIVE_INFINITY));
    expect(first.reward).not.toBeNull();
    expect(await live(done, new Fuse(Number.POSITIVE_INFINITY))).toEqual(first);
  });
});

describe("a run's metrics", () => {
  it.each([
    [{ mode: "collocated" }, 0],
    [{ mode: "interleaved" }, 1],
    [{ mode: "interleaved", maxAge: 0 }, 0],
  ] as const)("say whether gradients were computed as groups finished (%j: %i)", async (mode, early) => {
    const done = await world(1, mode);
    await live(done, new Fuse(Number.POSITIVE_INFINITY));
    const lines = (await nodeFiles.readText(join(done.folder, "metrics.jsonl"))).trimEnd().split("\n");
    const found = lines.map((line) => (JSON.parse(line) as Record<string, number>)["schedule/collects_early"]);
    expect(found).toEqual([early, early, early, early]);
  });
});

describe("a damaged checkpoint", () => {
  const damage: [string, (folder: string) => Promise<void>, RegExp][] = [
    ["no state", (f) => nodeFiles.remove(join(f, "state.json")), /has no readable state\.json/],
    ["state that is not JSON", (f) => nodeFiles.write(join(f, "state.json"), "{"), /has no readable state\.json/],
    ["state of nothing", (f) => nodeFiles.write(join(f, "state.json"), "null"), /has no readable state\.json/],
    ["state without fields", (f) => nodeFiles.write(join(f, "state.json"), '{"format":1}'), /no readable state\.json/],
    [
      "other weights",
      (f) => nodeFiles.write(join(f, "model.safetensors"), "x"),
      /step_4 have SHA-256 120; 4 was saved/,
    ],
  ];

  it.each(damage)("is refused: %s", async (_, spoil, message) => {
    const done = await world(1);
    await live(done, new Fuse(Number.POSITIVE_INFINITY));
    await spoil(join(done.folder, "checkpoints", "step_4"));
    await expect(live(done, new Fuse(Number.POSITIVE_INFINITY))).rejects.toMatchObject({
      code: "checkpoint_damaged",
      message: expect.stringMatching(message),
    });
  });
});
