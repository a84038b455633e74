import { describe, expect, it } from "vitest";
import { Rng, seedKey } from "../../src/core/rng.ts";
import {
  broadcastAdvantages,
  normalisedAdvantages,
  type RewardedRow,
  rolloutLevelAdvantages,
} from "../../src/rl/agent_lightning/rollout_level.ts";
import { keptRows, planRowDrop } from "../../src/rl/agent_lightning/row_drop.ts";
import { policyMetrics } from "../../src/rl/losses/policy_metrics.ts";
import { ppo } from "../../src/rl/losses/ppo.ts";

describe("rollout-level advantage", () => {
  const row = (rollout: string, group: string, reward: number, mask: number[] = [1]): RewardedRow => ({
    ...{ rollout, group, reward, mask },
  });
  const rows = [
    row("a", "g", 1),
    row("a", "g", 1),
    row("a", "g", 1),
    row("b", "g", 0),
    row("c", "g", 0),
    row("d", "g", 0),
  ];

  it("sees each rollout once, however many rows it has", () => {
    const grpo = rolloutLevelAdvantages(rows, { estimator: "grpo" });
    expect([...grpo.values()]).toEqual([1.499997, -0.499999, -0.499999, -0.499999].map((a) => expect.closeTo(a, 6)));
    expect([...rolloutLevelAdvantages(rows, { estimator: "grpo", std: "none" }).values()]).toEqual([
      ...[0.75, -0.25, -0.25, -0.25],
    ]);
    expect(rolloutLevelAdvantages(rows, { estimator: "rloo" }).get("b")).toBeCloseTo(-1 / 3, 12);
  });

  it("gives the vectors of two groups", () => {
    const two = [row("1", "p", 1), row("2", "p", 0), row("3", "q", 0.25), row("4", "q", 0.75), row("5", "q", 0.5)];
    expect([...rolloutLevelAdvantages(two, { estimator: "grpo" }).values()]).toEqual(
      [0.7071058, -0.7071058, -0.999996, 0.999996, 0].map((a) => expect.closeTo(a, 6)),
    );
  });

  it("refuses rows of one rollout that disagree", () => {
    expect(() => rolloutLevelAdvantages([row("a", "g", 1), row("a", "h", 1)], { estimator: "grpo" })).toThrow(
      "Rollout a has rows of groups g and h.",
    );
    expect(() => rolloutLevelAdvantages([row("a", "g", 1), row("a", "g", 0)], { estimator: "grpo" })).toThrow(
      "Rollout a has rows with rewards 1 and 0.",
    );
  });

  it("gives the per-rollout loss of the vectors", () => {
    const masks = [
      [1, 1, 0, 0],
      [1, 0, 1, 0],
      [1, 1, 1, 1],
    ];
    const batch = [row("A", "g", 1, masks[0]), row("A", "g", 1, masks[1]), row("B", "g", 0, masks[2])];
    const raw = broadcastAdvantages(
      batch,
      new Map([
        ["A", 1.5],
        ["B", -0.5],
      ]),
    );
    const scaled = normalisedAdvantages(batch, raw, "rows");
    expect(scaled[0]?.[0]).toBeCloseTo(0.125, 12);
    expect(scaled[2]?.[0]).toBeCloseTo(-0.5 / 12, 12);
    const nan = Number.NaN;
    const old = [
      [-1, -2, nan, nan],
      [-1, nan, -0.5, nan],
      [-1, -1, -1, -1],
    ];
    const now = [
      [-0.7, -2.5, nan, nan],
      [-0.9, nan, -0.5, nan],
      [-1.5, -0.5, 2, -1],
    ];
    const options = { clipLow: 0.2, clipHigh: 0.28, dualClip: 3 };
    const lossRows = masks.map((mask, i) => ({
      ...{ mask, logprob: now[i] ?? [], oldLogprob: old[i] ?? [], advantages: scaled[i] ?? [] },
    }));
    const loss = lossRows.flatMap((r) => [...ppo.tokens(r, options).loss]).reduce((a, b) => a + b, 0);
    // The vector was computed in float32.
    expect(loss).toBeCloseTo(-0.230265975, 7);
    const metrics = policyMetrics(lossRows, options);
    expect(metrics.clipFrac).toBeCloseTo(0.25, 12);
    expect(metrics.approxKl).toBeCloseTo(-0.3625, 12);
    expect(metrics.dualClipFrac).toBeCloseTo(0.125, 12);
  });
});

describe("row dropping", () => {
  it("keeps order, and takes rows of equal rewards first", () => {
    const groups = ["a", "a", "b", "b", "b", "c"];
    const rewards = [1, 0, 1, 1, 1, 0];
    const plan = planRowDrop(groups, rewards, 2, 1);
    expect(plan).toMatchObject({ trained: 2, dropped: 4, sameReward: [2, 3, 4, 5], droppedRandom: 0, skipStep: false });
    expect(keptRows(plan, 6, new Rng(seedKey(1)))).toEqual([0, 1]);
    const some = planRowDrop(groups, rewards, 5, null);
    const kept = keptRows(some, 6, new Rng(seedKey(1)));
    expect(kept).toHaveLength(5);
    expect(kept).toEqual(expect.arrayContaining([0, 1]));
    expect(kept).toEqual([...kept].sort((x, y) => x - y));
    expect(kept).toEqual(keptRows(some, 6, new Rng(seedKey(1))));
  });
});
