/** A run whose agents all fail before they have asked their model anything ends at once, with the agent's own words. */
import { expect, it } from "vitest";
import { parseConfig } from "../../src/experiment/config.ts";
import { Loop } from "../../src/experiment/loop.ts";
import { freshRunState, RunFolder } from "../../src/experiment/run_folder.ts";
import { memoryFiles } from "../../src/platform/memory_files.ts";
import type { Engine } from "../../src/schema/engine.ts";
import type { Store } from "../../src/schema/store.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { stillClock } from "../runtime/still_clock.ts";
import { call } from "../store/samples.ts";

/** A store in which every rollout fails as soon as it is made, after so many calls. */
function failing(calls: number): Store {
  const store = new MemoryStore();
  const failed = Object.create(store) as Store;
  failed.append = async (events) => {
    await store.append(events);
    for (const event of events) {
      if (event.type !== "rollout_created") continue;
      const rolloutId = event.rollout.rollout_id;
      const error_message = "agent_exit: The agent ended with code 1.";
      await store.append([
        { type: "rollout_patched", rolloutId, patch: { state: "running", last_attempt_id: "0" }, at: 0 },
        ...Array.from({ length: calls }, (_, i) => ({
          type: "call_recorded" as const,
          call: call(`${rolloutId}-${i}`, rolloutId, [1], [2]),
        })),
        { type: "rollout_patched", rolloutId, patch: { state: "failed", error_message }, at: 0 },
      ]);
    }
    return store.seq();
  };
  return failed;
}

/** Updates that were taken until the run ended, and its error. */
async function ended(calls: number): Promise<{ updates: number; error: unknown }> {
  let updates = 0;
  const engine: Partial<Engine> = {
    info: async () => ({ version: 0, microBatchTokens: 1000 }) as never,
    stats: async () => ({ deviceSeconds: { prefill: 0, decode: 0, train: 0, idle: 0 } }) as never,
    update: async () => {
      updates++;
      return { version: 0, skipped: "empty_batch", loss: 0, logprobs: new Float32Array(0) } as never;
    },
    snapshot: async () => ({ version: 0, optimizerSteps: 0, files: {}, weightsSha256: "w" }),
  };
  const files = memoryFiles();
  await files.write("/run/attempts/g000000-s0/0/stderr.log", "SyntaxError: Unexpected token\n");
  const loop = new Loop(
    {
      config: parseConfig({
        ...{ model: { path: "m" }, task: { dataset: "d" }, rollout: { command: ["c"] } },
        train: { updates: 2, tasksPerUpdate: 2, groupSize: 2 },
      }),
      configSha256: "c",
      dataset: { train: () => ({ at: (i) => ({ id: `t${i}`, input: {}, hidden: {} }), length: 9 }), heldOut: [] },
      engine: engine as Engine,
      store: failing(calls),
      folder: new RunFolder(files, "/run"),
      clock: stillClock,
      rolloutConfig: { timeout_seconds: 1, local: null, k8s: null },
      hooks: {},
      modelFiles: {},
      reporter: { rollouts() {}, failures() {}, update() {}, validation() {} },
      signal: new AbortController().signal,
    },
    { ...freshRunState, configSha256: "c" },
  );
  const error = await loop.run().then(
    () => null,
    (thrown: unknown) => thrown,
  );
  return { updates, error };
}

it("ends before the first update when no agent asked anything", async () => {
  expect(await ended(0)).toMatchObject({
    updates: 0,
    error: {
      code: "rollouts_failed",
      message:
        "None of the 4 agents of update 1 called its model: agent_exit: The agent ended with code 1. The first one wrote: SyntaxError: Unexpected token",
    },
  });
});

it("goes on when agents that fail have asked something", async () => {
  expect(await ended(1)).toMatchObject({ updates: 2, error: null });
});
