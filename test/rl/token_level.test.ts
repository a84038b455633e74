import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { discountedReturns, gae } from "../../src/rl/advantages/gae.ts";
import { countMasked, maskedMean, maskedSum, whiten, whitenWeighted } from "../../src/rl/masked.ts";

const finite = fc.double({ min: -10, max: 10, noNaN: true });
const step = fc.record({ reward: finite, value: finite, mask: fc.constantFrom(0, 1) });

describe("GAE", () => {
  it("lambda 1 is the discounted return minus the value, lambda 0 the one-step error", () => {
    const rewards = [[1, 2, 4]];
    const values = [[10, 20, 40]];
    const mask = [[1, 1, 1]];
    const monte = gae(rewards, values, mask, { gamma: 0.5, lambda: 1 });
    expect([...(monte.returns[0] as Float64Array)]).toEqual([3, 4, 4]);
    expect([...(monte.advantages[0] as Float64Array)]).toEqual([-7, -16, -36]);
    const oneStep = gae(rewards, values, mask, { gamma: 0.5, lambda: 0 });
    expect([...(oneStep.advantages[0] as Float64Array)]).toEqual([1, 2, -36]);
  });

  it("skips what was not sampled as if it were not there", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 8 }), (steps) => {
        const sampled = steps.filter((s) => s.mask === 1);
        const options = { gamma: 0.9, lambda: 0.8 };
        const poison = (key: "reward" | "value"): number[] => steps.map((s) => (s.mask === 1 ? s[key] : Number.NaN));
        const whole = gae([poison("reward")], [poison("value")], [steps.map((s) => s.mask)], options);
        const dense = gae(
          [sampled.map((s) => s.reward)],
          [sampled.map((s) => s.value)],
          [sampled.map(() => 1)],
          options,
        );
        const left = (row: Float64Array | undefined): number[] =>
          Array.from(row ?? []).filter((_, t) => steps[t]?.mask === 1);
        expect(left(whole.advantages[0])).toEqual([...(dense.advantages[0] as Float64Array)]);
        expect(left(whole.returns[0])).toEqual([...(dense.returns[0] as Float64Array)]);
      }),
    );
  });

  it("a reward before an observation reaches every token before it", () => {
    const returns = discountedReturns([[0, 0, 7, 1]], [[1, 1, 0, 1]], 1);
    expect([...(returns[0] as Float64Array)]).toEqual([1, 1, 0, 1]);
  });
});

describe("masked statistics", () => {
  it("of an empty mask are 0", () => {
    expect(maskedSum([Number.NaN], [0])).toBe(0);
    expect(maskedMean([Number.NaN], [0])).toBe(0);
    expect(countMasked([0, 0])).toBe(0);
    expect([...(whiten([[Number.NaN]], [[0]])[0] as Float64Array)]).toEqual([0]);
  });

  it("whitening gives mean 0 and variance 1, and exactly 0 for equal or single values", () => {
    fc.assert(
      fc.property(fc.array(finite, { minLength: 3, maxLength: 12 }), (values) => {
        fc.pre(Math.max(...values) - Math.min(...values) > 0.1);
        const white = whiten([values], [values.map(() => 1)])[0] as Float64Array;
        const mean = white.reduce((s, x) => s + x, 0) / white.length;
        expect(mean).toBeCloseTo(0, 9);
        expect(white.reduce((s, x) => s + (x - mean) ** 2, 0) / (white.length - 1)).toBeCloseTo(1, 4);
      }),
    );
    expect(whiten([[0.35, 0.35, 0.35]], [[1, 1, 1]])[0]).toEqual(Float64Array.of(0, 0, 0));
    expect(whiten([[7]], [[1]])[0]).toEqual(Float64Array.of(0));
  });

  it("a weight of n is the value n times", () => {
    const options = { eps: 1e-8, countEps: 0 };
    const weighted = whitenWeighted([1, 5], [3, 2], options);
    const spelled = whitenWeighted([1, 1, 1, 5, 5], null, options);
    expect(weighted[0]).toBeCloseTo(spelled[0] as number, 12);
    expect(weighted[1]).toBeCloseTo(spelled[4] as number, 12);
  });
});
