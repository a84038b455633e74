import { describe, expect, it } from "vitest";
import { parseConfig } from "../../src/experiment/config.ts";
import { GroupRunner } from "../../src/experiment/group_runner.ts";
import type { RunState } from "../../src/experiment/run_folder.ts";
import { systemClock } from "../../src/platform/clock.ts";
import type { TrainConfig } from "../../src/schema/train_config.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { stillClock } from "../runtime/still_clock.ts";

const fresh: RunState = {
  ...{ format: 1, update: 0, version: 0, optimizerSteps: 0, cursor: 0, carryOver: [], storeSeq: 0 },
  ...{ configSha256: "", weightsSha256: "" },
};

const rolloutConfig = { timeout_seconds: 0, local: null, k8s: null };

async function runner(
  train: Partial<TrainConfig>,
  signal: AbortSignal = new AbortController().signal,
): Promise<{ runner: GroupRunner; store: MemoryStore }> {
  const config = parseConfig({
    ...{ model: { path: "m" }, task: { dataset: "d" }, rollout: { command: ["c"] } },
    train: { updates: 9, tasksPerUpdate: 2, groupSize: 2, ...train },
  });
  const tasks = { length: 50, at: (i: number) => ({ id: `t${i}`, input: {}, hidden: {} }) };
  const store = new MemoryStore();
  const deps = {
    config,
    tasks,
    store,
    clock: { ...stillClock, sleep: systemClock.sleep },
    rolloutConfig,
    hooks: {},
    signal,
  };
  return { store, runner: new GroupRunner(deps, fresh) };
}

/** Ends a group's rollouts with these rewards. */
async function end(store: MemoryStore, group: string, rewards: readonly (number | null)[]): Promise<void> {
  for (const [i, value] of rewards.entries()) {
    const rolloutId = `${group}-s${i}`;
    const event = {
      ...{ event_id: `${rolloutId}-r`, rollout_id: rolloutId, attempt_id: "0", event_type: "reward", timestamp: 0 },
      data: { value },
    };
    await store.append([
      { type: "rollout_patched", rolloutId, patch: { state: "running", last_attempt_id: "0" }, at: 0 },
      ...(value === null ? [] : [{ type: "event_posted" as const, event: event as never }]),
      { type: "rollout_patched", rolloutId, patch: { state: "succeeded" }, at: 0 },
    ]);
  }
}

const open = (one: GroupRunner): string[] => one.schedule.untrained.map((g) => g.id);

describe("groups of equal rewards", () => {
  it("are replaced by other tasks' groups where asked, and the update waits for these", async () => {
    const { runner: one, store } = await runner({ zeroVariance: "refill" });
    await one.lookAndStart();
    expect(open(one)).toEqual(["g000000", "g000001"]);
    await end(store, "g000000", [1, 1]);
    await end(store, "g000001", [1, 0]);
    await one.lookAndStart();
    expect(open(one)).toEqual(["g000001", "g000002"]);
    expect(one.schedule.batch()).toBeNull();
    await end(store, "g000002", [0, 1]);
    await one.lookAndStart();
    expect(one.schedule.batch()?.map((g) => g.id)).toEqual(["g000001", "g000002"]);
    expect(one.trained([])).toEqual({ replaced: 1 });
    expect(one.trained([])).toEqual({ replaced: 0 });
  });

  it("are trained after all once four per task were replaced, so that an update comes", async () => {
    const { runner: one, store } = await runner({ zeroVariance: "refill" });
    for (let i = 0; i < 10; i++) {
      await one.lookAndStart();
      await end(store, `g${String(i).padStart(6, "0")}`, [0, 0]);
    }
    await one.lookAndStart();
    expect(one.schedule.batch()?.map((g) => g.id)).toEqual(["g000008", "g000009"]);
    expect(one.trained([])).toEqual({ replaced: 8 });
  });

  it("are those whose rewards are equal as they are trained: a missing one is what train.missingReward says", async () => {
    const replacedOf = async (train: Partial<TrainConfig>, rewards: readonly (number | null)[]): Promise<number> => {
      const { runner: one, store } = await runner({ zeroVariance: "refill", groupSize: rewards.length, ...train });
      await one.lookAndStart();
      await end(store, "g000000", rewards);
      await one.lookAndStart();
      return one.trained([]).replaced;
    };
    expect(await replacedOf({}, [1, null])).toBe(0);
    expect(await replacedOf({}, [0, null])).toBe(1);
    expect(await replacedOf({ missingReward: 1 }, [1, null])).toBe(1);
    expect(await replacedOf({ missingReward: 1 }, [0, null])).toBe(0);
    expect(await replacedOf({ missingReward: "drop" }, [1, 1, null])).toBe(1);
    expect(await replacedOf({ missingReward: "drop" }, [null, null])).toBe(1);
    expect(await replacedOf({ missingReward: "drop" }, [1, 0, null])).toBe(0);
  });

  it("stay where they are by default", async () => {
    const { runner: one, store } = await runner({});
    await one.lookAndStart();
    for (const group of open(one)) await end(store, group, [1, 1]);
    await one.lookAndStart();
    expect(one.schedule.batch()).toHaveLength(2);
  });
});

describe("a run's tasks", () => {
  it("by difficulty are kept in the state, so that carried groups stay what they were", async () => {
    const { runner: one } = await runner({ taskSampling: "difficulty" });
    await one.lookAndStart();
    const { tasks, carryOver } = one.state();
    expect(carryOver).toEqual([0, 1]);
    expect(Object.keys(tasks?.picks ?? {})).toEqual(["0", "1"]);
    expect((await runner({})).runner.state().tasks).toBeUndefined();
  });
});

describe("an update of very many groups", () => {
  it("is stopped while they are being started", async () => {
    const stop = new AbortController();
    const { runner: made } = await runner({ tasksPerUpdate: 65_536 }, stop.signal);
    const started = made.lookAndStart();
    setTimeout(() => stop.abort());
    await expect(started).rejects.toMatchObject({ code: "cancelled" });
    expect(made.schedule.untrained.length).toBeLessThan(65_536);
    await expect(runner({ tasksPerUpdate: 65_537 })).rejects.toMatchObject({
      code: "config",
      message: expect.stringContaining("train.tasksPerUpdate"),
    });
  });
});
