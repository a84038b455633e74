import { describe, expect, it } from "vitest";
import type { GroupPolicy } from "../../src/schedule/group_schedule.ts";
import type { DeviceCosts, DeviceLimits } from "../../src/schedule/virtual_device.ts";
import { type VirtualResult, VirtualRun, type VirtualWorkload } from "../../src/schedule/virtual_run.ts";

const free: DeviceCosts = {
  prefillStep: 0,
  prefillToken: 0,
  prefillPairs: 0,
  decodeStep: 0,
  decodeSequence: 0,
  decodeContext: 0,
  action: 0,
  trainPass: 0,
  trainToken: 0,
  trainPairs: 0,
  optimizer: 0,
};
const limits: DeviceLimits = {
  maxSequences: 8,
  prefillTokens: 64,
  burst: 4,
  pageTokens: 16,
  microBatchTokens: 4096,
  passQuanta: 2,
};

function run(
  workload: VirtualWorkload,
  mode: GroupPolicy["mode"],
  costs: Partial<DeviceCosts>,
  more: { inFlight?: "keep" | "recompute"; tasksPerUpdate?: number; activeGroups?: number; turnMs?: number } = {},
): VirtualResult {
  const { tasksPerUpdate = 1, activeGroups = 2, inFlight = "keep", turnMs = 0 } = more;
  const interleaved = mode === "interleaved";
  return new VirtualRun(workload, {
    costs: { ...free, ...costs },
    limits,
    device: { inFlight: interleaved ? inFlight : "drain", stepsPerQuantum: 4 },
    groups: { mode, tasksPerUpdate, activeGroups, maxAge: mode === "sync" ? 0 : 4 },
    collects: interleaved,
    turnMs,
  }).run();
}

/** Groups of one rollout each. */
const work = (...rollouts: VirtualWorkload["groups"][number][number][]): VirtualWorkload => ({
  groups: rollouts.map((turns) => [turns]),
});
const turn = (toolMs: number, promptTokens: number, replyTokens: number) => ({ toolMs, promptTokens, replyTokens });

describe("VirtualRun", () => {
  it("adds up what a lone rollout takes", () => {
    // 40 prompt tokens in one step, one token drawn with it, then 8 decode steps in two bursts; the next prompt finds
    // 48 of the 49 tokens in whole pages and computes 11.
    const result = run(work([turn(0, 40, 9), turn(100, 10, 1)]), "sync", {
      prefillStep: 5,
      prefillToken: 1,
      decodeStep: 2,
      decodeSequence: 1,
      trainToken: 0.5,
      optimizer: 7,
    });
    const prefill = 5 + 40 + (5 + 11);
    expect(result.deviceSeconds.prefill).toBeCloseTo(prefill / 1000, 9);
    expect(result.deviceSeconds.decode).toBeCloseTo((8 * 3) / 1000, 9);
    expect(result.deviceSeconds.train).toBeCloseTo((0.5 * 60) / 1000, 9);
    expect(result.deviceSeconds.optimizer).toBeCloseTo(7 / 1000, 9);
    expect(result.deviceSeconds.idle).toBeCloseTo(100 / 1000, 9);
    expect(result.seconds).toBeCloseTo((prefill + 24 + 30 + 7 + 100) / 1000, 9);
    expect(result.updates).toBe(1);
  });

  it("overlaps tools with other groups where more than one is active", () => {
    const one = [turn(100, 4, 1), turn(100, 4, 1)];
    const list = work(one, one, one, one);
    expect(run(list, "sync", {}).seconds).toBeCloseTo(0.8, 9);
    expect(run(list, "collocated", {}).seconds).toBeCloseTo(0.4, 9);
    expect(run(list, "interleaved", {}).seconds).toBeCloseTo(0.4, 9);
  });

  it("trains finished groups while the tools of their update's others work, in an interleaved run alone", () => {
    const short = [turn(10, 4, 1)];
    const long = [turn(10, 4, 1), turn(60, 4, 1), turn(60, 4, 1)];
    const costs = { trainToken: 10, decodeStep: 1 };
    const list = work(short, long);
    const pair = { tasksPerUpdate: 2, activeGroups: 4 };
    const collocated = run(list, "collocated", costs, pair);
    const interleaved = run(list, "interleaved", costs, pair);
    // The trainings cost 50 and 150 ms; the first of them lies within the tools' 120 ms.
    expect(collocated.deviceSeconds.train).toBeCloseTo(0.2, 9);
    expect(interleaved.deviceSeconds.train).toBeCloseTo(0.2, 9);
    expect(interleaved.deviceSeconds.idle).toBeLessThan(collocated.deviceSeconds.idle);
    expect(interleaved.seconds).toBeLessThan(collocated.seconds);
  });

  it("computes a sequence in flight anew after an update only where it is told to", () => {
    const list = work([turn(0, 16, 1)], [turn(0, 16, 40)]);
    const costs = { prefillToken: 1, decodeStep: 1, trainPass: 10 };
    const keep = run(list, "interleaved", costs);
    const recompute = run(list, "interleaved", costs, { inFlight: "recompute" });
    expect(keep.deviceSeconds.prefill).toBeCloseTo(0.032, 9);
    expect(recompute.deviceSeconds.prefill).toBeGreaterThan(0.032 + 0.016);
  });

  it("computes a held call's prompt anew when the update it waited for has changed the weights", () => {
    // The second group's tool ends while the first one's update drains: what it had cached is void by then.
    const list = work([turn(0, 32, 1)], [turn(0, 32, 17), turn(1, 4, 1)]);
    const costs = { prefillToken: 1, decodeStep: 1, trainPass: 100 };
    const counted = run(list, "collocated", costs);
    expect(counted.promptTokens).toBe(32 + 32 + 53);
    // Interleaved, its keys and values were kept over the update, but are nobody's to find.
    expect(run(list, "interleaved", costs).promptTokens).toBe(32 + 32 + 53);
    expect(run(list, "sync", costs).promptTokens).toBe(32 + 32 + (53 - 48));
  });

  it("computes what a group's first prompts have in common once", () => {
    const two = { groups: [[[turn(0, 40, 1)], [turn(0, 40, 1)]]], sharedTokens: 40 };
    expect(run(two, "sync", {}).promptTokens).toBe(40 + 8);
    expect(run({ groups: two.groups }, "sync", {}).promptTokens).toBe(80);
  });

  it("cuts a pass over many tokens into longer quanta, and a long batch into several passes", () => {
    const long = [turn(0, 3000, 1)];
    const one = { groups: [[long, long]] };
    const result = run(one, "sync", { trainPass: 10, trainToken: 0.01 });
    expect(result.deviceSeconds.train).toBeCloseTo((2 * 10 + 0.01 * 6002) / 1000, 9);
  });

  it("lets an agent's next call take its time", () => {
    const list = work([turn(0, 4, 1), turn(0, 4, 1), turn(0, 4, 1)]);
    expect(run(list, "sync", {}, { turnMs: 5 }).seconds).toBeCloseTo(0.01, 9);
  });

  it("says how old what was trained was", () => {
    const quick = [turn(1, 4, 1)];
    const list = work([turn(100, 4, 1)], quick, quick, quick);
    expect(run(list, "sync", {}).maxAge).toBe(0);
    expect(run(list, "interleaved", {}).maxAge).toBe(3);
  });
});
