import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ScoredUnit } from "../../src/rl/advantages/estimator.ts";
import {
  type AdvantageConfig,
  type AdvantageName,
  advantageEstimators,
  estimateAdvantages,
} from "../../src/rl/advantages/registry.ts";

const names = Object.keys(advantageEstimators) as AdvantageName[];

function unitsOf(groups: Record<string, number[]>): ScoredUnit[] {
  return Object.entries(groups).flatMap(([group, rewards]) =>
    rewards.map((reward, i) => ({ group, reward, tokens: 3 + i, baseline: reward })),
  );
}

function values(groups: Record<string, number[]>, config: AdvantageConfig): number[] {
  return [...estimateAdvantages(unitsOf(groups), config)];
}

const reward = fc.double({ min: -1e3, max: 1e3, noNaN: true });

describe("advantages by hand", () => {
  it("GRPO divides by the group's unbiased deviation", () => {
    const [a, b, c, d] = values({ g: [1, 0, 0, 0] }, { estimator: "grpo" });
    expect(a).toBeCloseTo(1.499997, 6);
    expect([b, c, d]).toEqual([b, b, b]);
    expect(b).toBeCloseTo(-0.499999, 6);
  });

  it("without std it is the centred reward, as Dr. GRPO", () => {
    const grpo = values({ g: [1, 0, 0, 0] }, { estimator: "grpo", std: "none" });
    expect(grpo).toEqual([0.75, -0.25, -0.25, -0.25]);
    expect(values({ g: [1, 0, 0, 0] }, { estimator: "dr_grpo" })).toEqual(grpo);
  });

  it("std batch divides every group by the deviation of all rewards", () => {
    const found = values({ a: [1, 0], b: [3, 3] }, { estimator: "grpo", std: "batch", eps: 0 });
    const deviation = Math.sqrt(2.25);
    expect(found[0]).toBeCloseTo(0.5 / deviation, 12);
    expect(found.slice(2)).toEqual([0, 0]);
  });

  it("RLOO compares with the mean of the others", () => {
    const found = values({ g: [1, 0, 0, 0.5] }, { estimator: "rloo" });
    expect(found[0]).toBeCloseTo(1 - 0.5 / 3, 12);
    expect(found[3]).toBeCloseTo(0.5 - 1 / 3, 12);
  });

  it("OPO's baseline weighs by length", () => {
    const units: ScoredUnit[] = [
      { group: "g", reward: 1, tokens: 10 },
      { group: "g", reward: 0, tokens: 30 },
    ];
    expect([...estimateAdvantages(units, { estimator: "opo" })]).toEqual([0.75, -0.25]);
  });

  it("GPG scales by the share of non-zero rewards, and gives 0 when there is none", () => {
    expect(values({ g: [1, 0, 0, 0] }, { estimator: "gpg" })).toEqual([3, -1, -1, -1]);
    expect(values({ g: [0, 0] }, { estimator: "gpg" })).toEqual([0, 0]);
  });

  it("pass@k pays the best its lead over the second", () => {
    expect(values({ g: [0.2, 1, 0.7] }, { estimator: "pass_at_k", std: "none" })[1]).toBeCloseTo(0.3, 12);
    expect(values({ g: [1, 1, 0] }, { estimator: "pass_at_k" })).toEqual([0, 0, 0]);
  });

  it("MaxRL divides by the mean, and gives 0 where it is not positive", () => {
    expect(values({ g: [1, 0, 0, 0], h: [-1, -3] }, { estimator: "maxrl" })).toEqual([3, -1, -1, -1, 0, 0]);
  });

  it("REINFORCE++ has mean 0 and variance 1 over tokens", () => {
    const units = unitsOf({ a: [1, 0, 2], b: [5, -1] });
    const found = estimateAdvantages(units, { estimator: "reinforce_plus_plus" });
    const tokens = units.flatMap((u, i) => Array.from({ length: u.tokens }, () => found[i] as number));
    const mean = tokens.reduce((s, x) => s + x, 0) / tokens.length;
    const variance = tokens.reduce((s, x) => s + (x - mean) ** 2, 0) / (tokens.length - 1);
    expect(mean).toBeCloseTo(0, 12);
    expect(variance).toBeCloseTo(1, 6);
  });
});

describe("what must hold for every estimator", () => {
  it("equal rewards give exactly 0 (NeMo-RL 4161: a residue of 1e-4 became an advantage of 4000)", () => {
    fc.assert(
      fc.property(reward, fc.integer({ min: 2, max: 12 }), fc.integer({ min: 1, max: 4 }), (r, size, groups) => {
        const rewards = Object.fromEntries(Array.from({ length: groups }, (_, g) => [`g${g}`, Array(size).fill(r)]));
        for (const estimator of names) {
          const found = values(rewards, { estimator } as AdvantageConfig);
          // -0 counts as 0.
          expect(found.every((a) => a === 0)).toBe(true);
        }
      }),
    );
  });

  it("rewards of 0.35 leave no residue either", () => {
    for (const estimator of names) {
      expect(values({ g: Array(7).fill(0.35) }, { estimator } as AdvantageConfig).every((a) => a === 0)).toBe(true);
    }
  });

  it("a group of one gets 0 by default", () => {
    const compared = names.filter((name) => !["reinforce_plus_plus", "reinforce_plus_plus_baseline"].includes(name));
    for (const estimator of compared) {
      expect(values({ a: [1], b: [1, 0] }, { estimator } as AdvantageConfig)[0], estimator).toBe(0);
    }
    expect(values({ a: [1] }, { estimator: "reinforce_plus_plus_baseline" })).toEqual([0]);
  });

  it("a group of one gets its reward where verl's answer is asked for", () => {
    expect(values({ a: [1] }, { estimator: "grpo", single: "reward" })[0]).toBeCloseTo(0.999999, 9);
    for (const estimator of ["rloo", "dr_grpo", "opo", "gpg"] as const) {
      expect(values({ a: [1] }, { estimator, single: "reward" })).toEqual([1]);
    }
  });

  it("does not depend on the order of the rollouts", () => {
    const config = fc.constantFrom(...names);
    // Quarters: their sums are exact, so that no estimator divides by a rounding error.
    const quarter = fc.integer({ min: -16, max: 16 }).map((n) => n / 4);
    fc.assert(
      fc.property(fc.array(quarter, { minLength: 2, maxLength: 8 }), config, (rewards, estimator) => {
        const units = unitsOf({ g: rewards });
        const forward = estimateAdvantages(units, { estimator } as AdvantageConfig);
        const backward = estimateAdvantages([...units].reverse(), { estimator } as AdvantageConfig).reverse();
        // Of equal best rollouts, pass@k takes the first; all of them get 0.
        forward.forEach((a, i) => {
          expect(backward[i]).toBeCloseTo(a, 6);
        });
      }),
    );
  });

  it("no units give no advantages", () => {
    for (const estimator of names) {
      expect(estimateAdvantages([], { estimator } as AdvantageConfig)).toHaveLength(0);
    }
  });
});

describe("faults", () => {
  const units = unitsOf({ g: [1, 0] });
  const thrown = (run: () => unknown): { code: string; message: string; do: string } => {
    try {
      run();
    } catch (error) {
      return (error as { toJSON(): { code: string; message: string; do: string } }).toJSON();
    }
    throw new Error("nothing was thrown");
  };

  it("names the estimators it knows", () => {
    expect(thrown(() => estimateAdvantages(units, { estimator: "grpoo" } as never))).toEqual({
      code: "config",
      message: 'There is no advantage estimator "grpoo".',
      do: `Use one of ${names.join(", ")}.`,
    });
  });

  it("names an estimator's options and their values", () => {
    expect(thrown(() => estimateAdvantages(units, { estimator: "grpo", epsilon: 1 } as never))).toEqual({
      code: "config",
      message: 'The advantage estimator "grpo" has no option "epsilon".',
      do: "Its options are std, eps, single.",
    });
    expect(thrown(() => estimateAdvantages(units, { estimator: "grpo", std: "groups" } as never))).toEqual({
      code: "config",
      message: 'The option "std" of the advantage estimator "grpo" is "groups".',
      do: "Use one of group, batch, none.",
    });
    expect(thrown(() => estimateAdvantages(units, { estimator: "grpo", eps: "0" } as never)).do).toBe(
      "Give a number of at least 0.",
    );
    expect(thrown(() => estimateAdvantages(units, { estimator: "maxrl", eps: 0 } as never)).do).toBe(
      "Remove it: this estimator has no options.",
    );
  });

  it("refuses a reward that is not finite instead of spreading it", () => {
    const bad: ScoredUnit[] = [...units, { group: "h", reward: Number.NaN, tokens: 1 }];
    expect(thrown(() => estimateAdvantages(bad, { estimator: "grpo" }))).toEqual({
      code: "reward_not_finite",
      message: "A rollout of group h has the reward NaN.",
      do: "Make the grader return a finite number, or let the batch treat it as missing.",
    });
  });

  it("refuses a reward that float32 cannot hold, whose differences would overflow", () => {
    for (const reward of [1e308, -1e39]) {
      const bad: ScoredUnit[] = [...units, { group: "h", reward, tokens: 1 }];
      for (const estimator of ["grpo", "rloo"] as const) {
        expect(thrown(() => estimateAdvantages(bad, { estimator })).code).toBe("reward_not_finite");
      }
    }
  });

  it("ReMax needs a greedy reward", () => {
    const without = units.map(({ baseline: _, ...unit }) => unit);
    expect(thrown(() => estimateAdvantages(without, { estimator: "remax" })).code).toBe("missing_baseline");
  });
});
