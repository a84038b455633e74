// What of a store a resumed run keeps. Plan: the same task and settings keep what finished; another task in one rollout,
// in its input or its hidden part, or other settings, run the whole group again; what was trained stays; a smaller group
// has no place for its last rollouts; where onEnqueue made the inputs, tasks are told apart by id; what a sampler
// settles only later is compared when its group starts; and what is said of each.
import { describe, expect, it } from "vitest";
import { type Group, nameGroup, startGroups } from "../../src/experiment/groups.ts";
import { alignStore, type ResumeOptions, resumeLines } from "../../src/experiment/resume.ts";
import { freshRunState, type RunState } from "../../src/experiment/run_folder.ts";
import type { TaskRow } from "../../src/schema/task.ts";
import { MemoryStore } from "../../src/store/memory_store.ts";
import { call } from "../store/samples.ts";

const config = { timeout_seconds: 1, local: null, k8s: null };
const taskAt = (index: number): TaskRow => ({ id: `t${index}`, input: { n: index }, hidden: { answer: index } });
const groupAt = (index: number, task = taskAt(index)): Group => nameGroup(`g00000${index}`, task, 2);
const shift = (index: number): TaskRow => taskAt(index + 1000);

/** Ends a rollout well, after a call. */
async function end(store: MemoryStore, rolloutId: string): Promise<void> {
  for (const state of ["running", "succeeded"] as const) {
    if (state === "succeeded")
      await store.append([{ type: "call_recorded", call: call(rolloutId, rolloutId, [1], []) }]);
    await store.append([{ type: "rollout_patched", rolloutId, patch: { state, last_attempt_id: "0" }, at: 0 }]);
  }
}

/** A store with group 0 finished, and of group 1 the first rollout alone. */
async function cutOff(): Promise<MemoryStore> {
  const store = new MemoryStore();
  await startGroups([groupAt(0), groupAt(1)], { store, isTrain: true, config, hooks: {}, now: 0 });
  for (const id of ["g000000-s0", "g000000-s1", "g000001-s0"]) await end(store, id);
  return store;
}

/** Aligns a store with a run of which no update is saved, or one; with what is left in it. */
async function aligned(store: MemoryStore, options: Partial<ResumeOptions>, state: Partial<RunState> = {}) {
  const all = { changes: [], taskAt, groupSize: 2, isHooked: false, now: 0, ...options };
  const report = await alignStore(store, { ...freshRunState, configSha256: "", ...state }, all);
  return { report, left: (await store.rollouts()).map((rollout) => rollout.rollout_id).sort() };
}

describe("a resumed run", () => {
  it("keeps what finished on the same task under the same settings", async () => {
    const { report, left } = await aligned(await cutOff(), {});
    expect(report).toEqual({ kept: 3, restarted: 1, otherTasks: 0 });
    expect(left).toEqual(["g000000-s0", "g000000-s1", "g000001-s0"]);
  });

  it.each<[string, Partial<ResumeOptions>]>([
    ["tasks", { taskAt: shift }],
    ["inputs of the same id", { taskAt: (i) => ({ ...taskAt(i), input: { n: -1 } }) }],
    ["answers of the same id", { taskAt: (i) => ({ ...taskAt(i), hidden: {} }) }],
    ["ids, where onEnqueue made the inputs", { taskAt: shift, isHooked: true }],
  ])("runs whole groups again for other %s", async (_, options) => {
    const { report, left } = await aligned(await cutOff(), options);
    expect(report).toEqual({ kept: 0, restarted: 4, otherTasks: 2 });
    expect(left).toEqual([]);
  });

  it("runs a whole group again of which one rollout has another task", async () => {
    const store = await cutOff();
    await store.append([{ type: "rollout_deleted", rolloutId: "g000000-s1", at: 0 }]);
    const other = { ...groupAt(0, shift(0)), rolloutIds: ["none", "g000000-s1"] };
    await startGroups([other], { store, isTrain: true, config, hooks: {}, now: 0 });
    await end(store, "g000000-s1");
    const { report, left } = await aligned(store, {});
    expect(report).toEqual({ kept: 1, restarted: 3, otherTasks: 1 });
    expect(left).toEqual(["g000001-s0", "none"]);
  });

  it("runs all again that was made with other settings, but leaves what is trained", async () => {
    const changed = { changes: ['rollout.reward "agent" -> "exit"'] };
    const all = await aligned(await cutOff(), changed);
    expect(all.report).toEqual({ kept: 0, restarted: 4, otherTasks: 0 });
    const trained = { update: 1, version: 1, cursor: 1 };
    const { report, left } = await aligned(await cutOff(), changed, trained);
    expect(report).toEqual({ kept: 0, restarted: 2, otherTasks: 0 });
    expect(left).toEqual(["g000000-s0", "g000000-s1"]);
    const carried = await aligned(await cutOff(), changed, { ...trained, cursor: 2, carryOver: [1] });
    expect(carried.left).toEqual(["g000000-s0", "g000000-s1"]);
  });

  it("has no place for the last rollouts of a group that is smaller now", async () => {
    const { report, left } = await aligned(await cutOff(), { groupSize: 1 });
    expect(report).toEqual({ kept: 2, restarted: 0, otherTasks: 0 });
    expect(left).toEqual(["g000000-s0", "g000001-s0"]);
  });

  it("takes inputs that onEnqueue made for those of the task with their id", async () => {
    const store = new MemoryStore();
    const hooks = { onEnqueue: (create: object) => ({ ...create, input: "made" }) };
    await startGroups([groupAt(0)], { store, isTrain: true, config, hooks, now: 0 });
    for (const id of groupAt(0).rolloutIds) await end(store, id);
    expect((await aligned(store, { isHooked: true })).report.kept).toBe(2);
  });

  it("compares a task that is settled only when its group starts then", async () => {
    const store = await cutOff();
    expect((await aligned(store, { taskAt: () => null })).report).toEqual({ kept: 3, restarted: 1, otherTasks: 0 });
    const groups = [groupAt(0, shift(0)), groupAt(1)];
    await startGroups(groups, { store, isTrain: true, config, hooks: {}, now: 0 });
    const inputs = await Promise.all(
      groups.flatMap(({ rolloutIds }) => rolloutIds).map(async (id) => (await store.rollout(id))?.input),
    );
    expect(inputs).toEqual([{ n: 1000 }, { n: 1000 }, { n: 1 }, { n: 1 }]);
    expect((await store.rollout("g000000-s0"))?.status.state).toBe("queuing");
    expect((await store.rollout("g000001-s0"))?.status.state).toBe("succeeded");
  });

  it("says what was kept, and why the rest was not", () => {
    const report = { kept: 0, restarted: 4, otherTasks: 0 };
    expect(resumeLines(1, { ...report, kept: 4, restarted: 0 }, ["seed 1 -> 2"])).toEqual([
      "Resuming after update 1: 4 rollouts kept, 0 run again.",
    ]);
    expect(resumeLines(1, report, ["seed 1 -> 2", "train.temperature 1 -> 0.5"])).toEqual([
      "Resuming after update 1: 0 rollouts kept, 4 run again.",
      "What was not trained yet runs again, because the settings it was made with are others: seed 1 -> 2, train.temperature 1 -> 0.5.",
    ]);
    expect([1, 2].map((otherTasks) => resumeLines(0, { ...report, otherTasks }, [])[1])).toEqual([
      "1 group runs again as a whole, because the dataset has other tasks in their places now.",
      "2 groups run again as a whole, because the dataset has other tasks in their places now.",
    ]);
  });
});
