// Plan: advantages as the run's own batch gives them, per estimator and level; baselines; missing rewards; what only the
// device could say; groups that are compared with their whole update; several policies; validation.
import { describe, expect, it } from "vitest";
import { groupCredit } from "../../src/experiment/group_credit.ts";
import type { CallRecord, GroupRecord, RolloutRecord } from "../../src/rl/batch/batch_input.ts";
import { buildBatch } from "../../src/rl/batch/build_batch.ts";
import { configOf } from "./studio_world.ts";

function call(id: string, replyIds: number[], change: Partial<CallRecord> = {}): CallRecord {
  const logprobs = replyIds.map(() => -0.5);
  return {
    id,
    attempt: "0",
    key: id,
    promptIds: [1, 2],
    replyIds,
    logprobs,
    versions: replyIds.map(() => 0),
    ...change,
  };
}

function rollout(
  id: string,
  reward: number | null,
  calls: CallRecord[] = [call(`${id}-c`, [3, id.length])],
): RolloutRecord {
  return { id, attempt: "0", status: "succeeded", reward, calls };
}

const group = (id: string, rewards: (number | null)[]): GroupRecord => ({
  id,
  task: `task ${id}`,
  rollouts: rewards.map((reward, i) => rollout(`${id}-s${i}`, reward, [call(`${id}-s${i}-c`, [3, i + 5])])),
});

const credit = (train: Record<string, unknown>, groups: GroupRecord[], update = 1) =>
  groupCredit(configOf(train), { group: groups[0]?.id ?? "", groups, update, mode: "train" });

describe("a group's credit", () => {
  it("has the advantages of the run's own batch", () => {
    const groups = [group("a", [1, 0, 0, 0.5])];
    const found = credit({}, groups);
    const batch = buildBatch(groups);
    expect(found?.rollouts.map(({ advantage }) => advantage)).toEqual(batch.rollouts.map(({ advantage }) => advantage));
    expect(found).toMatchObject({
      mean: 0.375,
      std: expect.closeTo(0.4787, 4),
      estimator: "grpo",
      level: "rollout",
      gaps: [],
    });
    expect(found?.rollouts[0]).toMatchObject({ baseline: 0.375, tokens: 2, excluded: null, filled: null });
    expect(found?.calls["a-s0-c"]).toBeCloseTo(found?.rollouts[0]?.advantage ?? 0, 6);
  });

  it("has the estimator's own baseline where its advantage is reward minus that", () => {
    const found = credit({ advantage: "rloo" }, [group("a", [1, 0, 0.5])]);
    expect(found?.rollouts.map(({ baseline }) => baseline)).toEqual([0.25, 0.75, 0.5]);
    expect(found?.rollouts.map(({ advantage }) => advantage)).toEqual([0.75, -0.75, 0]);
  });

  it("says what missing rewards count as, and why something is not trained", () => {
    const excluded = [call("x", [3], { excluded: "side call" })];
    const groups = [
      {
        ...group("a", [1]),
        rollouts: [rollout("a-s0", 1), rollout("a-s1", null), rollout("a-s2", 0, excluded), rollout("a-s3", 0, [])],
      },
    ];
    expect(credit({}, groups)?.rollouts).toMatchObject([
      { reward: 1, filled: null },
      { reward: null, filled: 0 },
      { advantage: null, excluded: "side call" },
      { advantage: null, excluded: "no calls" },
    ]);
    expect(credit({ missingReward: "drop" }, groups)?.rollouts[1]).toMatchObject({
      filled: null,
      advantage: null,
      excluded: "left out",
    });
  });

  it("compares with the whole update where the estimator does, and says when that is not there yet", () => {
    const options = { advantageOptions: { std: "batch" } };
    const both = [group("a", [1, 0]), group("b", [0, 0])];
    const whole = credit(options, both);
    expect(whole?.rollouts[0]?.advantage).toBeCloseTo(1, 5);
    expect(credit(options, both.slice(0, 1))?.rollouts[0]?.advantage).toBeCloseTo(Math.SQRT1_2, 5);
    expect(whole?.gaps).toEqual([]);
    expect(credit(options, both.slice(0, 1), 0)?.gaps).toEqual(["batch"]);
    expect(credit({}, both.slice(0, 1), 0)).toMatchObject({ update: null, gaps: [] });
  });

  it("names what only the device could say, and gives the rest", () => {
    const groups = [group("a", [1, 0])];
    const kl = credit({ klIn: "reward", klCoef: 0.1 }, groups);
    expect(kl?.gaps).toEqual(["kl_in_reward"]);
    expect(kl?.rollouts[0]?.advantage).toBeCloseTo(Math.SQRT1_2, 5);
    expect(credit({ correction: "token" }, groups)?.gaps).toEqual(["correction"]);
    const gae = credit({ advantage: "gae", critic: "separate" }, groups);
    expect(gae).toMatchObject({
      gaps: ["critic"],
      calls: {},
      rollouts: [{ reward: 1, advantage: null }, { reward: 0 }],
    });
  });

  it("gives tokens advantages of their own where the estimator does", () => {
    const calls = (tokenRewards: number[]) => [call(`c${tokenRewards}`, [3, 4], { tokenRewards })];
    const groups = [
      { ...group("a", []), rollouts: [rollout("a-s0", 1, calls([1, 0])), rollout("a-s1", 0, calls([0, 0]))] },
    ];
    const found = credit({ advantage: "returns" }, groups);
    expect(Object.values(found?.calls ?? {}).some(Array.isArray)).toBe(true);
  });

  it("shows rewards alone without a configuration, and nothing of a group that is not there", () => {
    const groups = [group("a", [1, 0])];
    const bare = groupCredit(null, { group: "a", groups, update: 0, mode: "val" });
    expect(bare).toMatchObject({
      mean: 0.5,
      estimator: "",
      update: null,
      mode: "val",
      rollouts: [{ reward: 1, advantage: null }, {}],
    });
    expect(groupCredit(null, { group: "z", groups, update: 0, mode: "val" })).toBeNull();
  });
});
