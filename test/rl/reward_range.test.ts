/** Rewards that cannot be trained: one group's never stop the others' step, and every number of it stays finite. */
import { describe, expect, it } from "vitest";
import { buildBatch } from "../../src/rl/batch/build_batch.ts";
import { isReward, largestReward } from "../../src/schema/reward.ts";
import { call, group, pair, rollout, thrown } from "./groups.ts";

/** A healthy group and one whose rewards are these. */
const beside = (...rewards: number[]) => [
  pair(),
  group(
    "z",
    rewards.map((reward, i) => rollout(`z${i}`, reward, [call([7], [2 + i])])),
  ),
];

describe("a reward", () => {
  it("is a finite number of at most 1e12 in size", () => {
    for (const value of [0, -0.5, largestReward, -largestReward]) expect(isReward(value)).toBe(true);
    for (const value of [Number.NaN, Infinity, -Infinity, 1.01e12, -1e308, "1", null, undefined, 1n]) {
      expect(isReward(value), String(value)).toBe(false);
    }
  });

  it("that is none counts as missing: its group is told apart, the healthy one trains, all metrics are finite", () => {
    for (const estimator of ["grpo", "rloo", "dr_grpo"] as const) {
      for (const missing of ["fill", "exclude"] as const) {
        for (const rewards of [
          [1e308, -1e308],
          [1e308, 1e308],
          [Number.NaN, 1e30],
        ] as const) {
          const { rows, metrics } = buildBatch(beside(...rewards), {
            advantage: { estimator },
            missingReward: missing,
          });
          expect(metrics).toMatchObject({
            ...{ "training/n_rollouts": 4, "training/n_rollouts_w_reward": 2, "training/reward": 0.25 },
            "training/n_rollouts_excluded": missing === "exclude" ? 2 : 0,
          });
          expect(Object.entries(metrics).filter(([, value]) => !Number.isFinite(value))).toEqual([]);
          const advantages = rows.flatMap((row) => [...row.advantage]);
          expect(advantages.length).toBe(5);
          expect(advantages.every((a) => Number.isFinite(a) && a !== 0)).toBe(true);
        }
      }
    }
  });

  it("of a token that float32 cannot hold is refused by name instead of spreading over the batch", () => {
    for (const bad of [Number.NaN, 1e39]) {
      const groups = [pair(), group("z", [rollout("z0", 1, [call([7], [2, 3], { tokenRewards: [0, bad] })])])];
      const { code, message } = thrown(() => buildBatch(groups, { advantage: { estimator: "returns" } }));
      expect([code, message]).toEqual(["reward_not_finite", `A token of rollout z0 has the reward ${bad}.`]);
    }
  });
});
