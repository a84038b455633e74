import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decoupledPpo } from "../../src/rl/losses/decoupled_ppo.ts";
import type { LossRow, PolicyLoss, TokenLosses } from "../../src/rl/losses/policy_loss.ts";
import { policyMetrics } from "../../src/rl/losses/policy_metrics.ts";
import { ppo, ppoToken } from "../../src/rl/losses/ppo.ts";
import { policyLosses } from "../../src/rl/losses/registry.ts";
import { valueLoss } from "../../src/rl/losses/value_loss.ts";

const all = Object.values(policyLosses) as PolicyLoss<object>[];

/** Logprobs whose ratio to the old ones stays off the clip's edges, so that central differences meet no kink. */
const token = fc.record({
  old: fc.double({ min: -4, max: -0.1, noNaN: true }),
  d: fc.constantFrom(-1.3, -0.55, -0.1, 0.05, 0.12, 0.6, 1.7),
  advantage: fc.constantFrom(-2, -0.7, 0.4, 1.5),
  mask: fc.constantFrom(0, 1, 1, 1),
});

function rowOf(tokens: readonly { old: number; d: number; advantage: number; mask: number }[]): LossRow {
  return {
    logprob: tokens.map((t) => t.old + t.d),
    oldLogprob: tokens.map((t) => t.old),
    advantages: tokens.map((t) => t.advantage),
    mask: tokens.map((t) => t.mask),
  };
}

/** Row with one advantage throughout: a row belongs to one rollout. */
const row = fc
  .tuple(fc.array(token, { minLength: 1, maxLength: 6 }), fc.constantFrom(-2, -0.7, 0.4, 1.5))
  .map(([tokens, advantage]) => rowOf(tokens.map((t) => ({ ...t, advantage }))));

/** d mean over masked tokens of loss / d logprob[t], by central differences. */
function numericGradient(run: (row: LossRow) => TokenLosses, of: LossRow, t: number): number {
  const mean = (logprob: number[]): number => {
    const { loss } = run({ ...of, logprob });
    const masked = Array.from(of.mask).filter((m) => m !== 0).length;
    return loss.reduce((sum, value) => sum + value, 0) / Math.max(1, masked);
  };
  const h = 1e-6;
  const at = (shift: number): number[] => Array.from(of.logprob, (value, i) => (i === t ? value + shift : value));
  return (mean(at(h)) - mean(at(-h))) / (2 * h);
}

/** Losses whose weight is a stopped gradient: the derivative is not that of the value. */
const stopped = new Set(["cispo", "dppo_tv", "reinforce", "gspo"]);

describe("policy losses", () => {
  it("are 0 without an advantage, as far as the policy may have drifted, where they say so", () => {
    for (const loss of all) {
      fc.assert(
        fc.property(fc.array(token, { minLength: 1, maxLength: 6 }), (tokens) => {
          const { loss: value, grad } = loss.tokens(rowOf(tokens.map((t) => ({ ...t, advantage: 0 }))), loss.defaults);
          const isZero = [...value, ...grad].every((x) => x === 0);
          expect(isZero, loss.name).toBe(loss.isZeroWithoutAdvantage || tokens.every((t) => t.mask === 0));
        }),
      );
    }
  });

  it("have gradients that central differences confirm", () => {
    for (const loss of all.filter((l) => !stopped.has(l.name))) {
      fc.assert(
        fc.property(row, (r) => {
          const run = (x: LossRow): TokenLosses => loss.tokens(x, loss.defaults);
          const masked = Math.max(1, Array.from(r.mask).filter((m) => m !== 0).length);
          const { grad } = run(r);
          for (let t = 0; t < r.mask.length; t++) {
            expect((grad[t] as number) / masked, `${loss.name}[${t}]`).toBeCloseTo(numericGradient(run, r, t), 5);
          }
        }),
      );
    }
  });

  it("have the gradient weight * A where the weight is a constant", () => {
    const r: LossRow = { logprob: [-1, -2], oldLogprob: [-1.5, -1.9], advantages: [2, 2], mask: [1, 1] };
    const ratio = Math.exp(0.5);
    expect(policyLosses.reinforce.tokens(r, { cap: 0 }).grad).toEqual(Float64Array.of(-2, -2));
    expect(policyLosses.reinforce.tokens(r, { cap: 1.2 }).grad[0]).toBe(-2.4);
    expect(policyLosses.cispo.tokens(r, { clipLow: 0.2, clipHigh: 0.28 }).grad[0]).toBeCloseTo(-2.56, 12);
    expect(policyLosses.cispo.tokens(r, { clipLow: 0.2, clipHigh: 9 }).grad[0]).toBeCloseTo(-2 * ratio, 12);
    const moved = Math.exp(-1) - Math.exp(-1.5);
    const options = { maxDecrease: 1, maxIncrease: moved - 1e-9, maxRatio: 20 };
    expect(policyLosses.dppo_tv.tokens(r, options).grad[0]).toBe(0);
    expect(policyLosses.dppo_tv.tokens(r, { ...options, maxIncrease: moved + 1e-9 }).grad[0]).toBeCloseTo(
      -2 * ratio,
      12,
    );
  });

  it("GSPO's token gradients are those of the row's ratio", () => {
    const r: LossRow = { logprob: [-1, -2, -3], oldLogprob: [-1.01, -2, -3], advantages: [1, 1, 1], mask: [1, 1, 0] };
    const { loss, grad } = policyLosses.gspo.tokens(r, { clipLow: 0.2, clipHigh: 0.2 });
    const ratio = Math.exp(0.005);
    expect(loss[0]).toBeCloseTo(-ratio, 12);
    expect([...grad]).toEqual([-ratio, -ratio, 0]);
  });

  it("never read what lies outside the mask", () => {
    fc.assert(
      fc.property(row, fc.constantFrom(Number.NaN, Number.NEGATIVE_INFINITY, 1e308), (r, poison) => {
        const spoil = (values: LossRow["logprob"]): number[] =>
          Array.from(values, (value, t) => (r.mask[t] === 0 ? poison : value));
        const spoiled: LossRow = {
          mask: r.mask,
          logprob: spoil(r.logprob),
          oldLogprob: spoil(r.oldLogprob),
          advantages: spoil(r.advantages),
        };
        for (const loss of all) expect(loss.tokens(spoiled, loss.defaults)).toEqual(loss.tokens(r, loss.defaults));
      }),
    );
  });

  it("give nothing for an empty mask", () => {
    const empty: LossRow = {
      logprob: [Number.NaN, Number.NEGATIVE_INFINITY],
      oldLogprob: [Number.NaN, Number.NEGATIVE_INFINITY],
      advantages: [Number.NaN, 1],
      mask: [0, 0],
    };
    for (const loss of all) {
      const { loss: values, grad } = loss.tokens(empty, loss.defaults);
      expect([...values, ...grad], loss.name).toEqual([0, 0, 0, 0]);
    }
  });
});

describe("PPO", () => {
  const options = { clipLow: 0.2, clipHigh: 0.28, dualClip: 3 };

  it("clips on the side that the advantage pushes to, and only there", () => {
    const at = (ratio: number, advantage: number): number => ppoToken(Math.log(ratio), 0, advantage, options).grad;
    expect(at(1.27, 1)).toBeCloseTo(-1.27, 12);
    expect(at(1.29, 1)).toBe(0);
    expect(at(0.5, 1)).toBeCloseTo(-0.5, 12);
    expect(at(0.81, -1)).toBeCloseTo(0.81, 12);
    expect(at(0.79, -1)).toBe(0);
    expect(at(2.9, -1)).toBeCloseTo(2.9, 12);
    expect(at(3.1, -1)).toBe(0);
  });

  it("bounds a huge ratio: the log ratio at 20, the dual clip at -A c", () => {
    expect(ppoToken(0, -1000, -1, { ...options, dualClip: 0 })).toMatchObject({ loss: Math.exp(20), grad: 0 });
    expect(ppoToken(0, -1000, -1, options)).toMatchObject({ loss: 3, grad: 0, dualClipped: true });
    expect(ppoToken(Number.NEGATIVE_INFINITY, -1, 1, options)).toMatchObject({
      ...{ loss: -Math.exp(-20), grad: expect.closeTo(0) },
    });
  });

  it("shows a NaN inside the mask instead of hiding it", () => {
    expect(ppoToken(Number.NaN, -1, 1, options).loss).toBeNaN();
  });

  it("reports what it clipped", () => {
    const r: LossRow = {
      logprob: [0, Math.log(2), Math.log(4), Number.NaN],
      oldLogprob: [0, 0, 0, 0],
      advantages: [1, 1, -1, 1],
      mask: [1, 1, 1, 0],
    };
    const found = policyMetrics([r], options);
    expect(found.clipFrac).toBeCloseTo(1 / 3, 12);
    expect(found.dualClipFrac).toBeCloseTo(1 / 3, 12);
    expect(found.ratioMax).toBeCloseTo(4, 12);
    expect(found.approxKl).toBeCloseTo(-(Math.log(2) + Math.log(4)) / 3, 12);
    expect(policyMetrics([{ ...r, mask: [0, 0, 0, 0] }], options)).toEqual({
      ...{ approxKl: 0, ratioMean: 0, ratioMax: 0, clipFrac: 0, dualClipFrac: 0 },
    });
  });

  it("is homogeneous in the advantage, so that weights may multiply either", () => {
    fc.assert(
      fc.property(row, fc.double({ min: 0.01, max: 10, noNaN: true }), (r, scale) => {
        const scaled = ppo.tokens({ ...r, advantages: Array.from(r.advantages, (a) => a * scale) }, options);
        const plain = ppo.tokens(r, options);
        scaled.grad.forEach((g, t) => {
          expect(g).toBeCloseTo((plain.grad[t] as number) * scale, 9);
        });
      }),
    );
  });
});

describe("decoupled PPO", () => {
  const r = {
    logprob: [-1, -1, Number.NaN],
    oldLogprob: [-1, -1, -1],
    behaviourLogprob: [-1.5, -3, -1],
    advantages: [1, 1, 1],
    mask: [1, 1, 0],
  };
  const base = { clipLow: 0.2, clipHigh: 0.2, dualClip: 0, cap: 5 };

  it("keeps the bound, or drops the token", () => {
    expect([...decoupledPpo(r, { ...base, above: "truncate" }).grad]).toEqual([-Math.exp(0.5), -5, 0]);
    // Adding 0 makes -0 a 0.
    const masked = decoupledPpo(r, { ...base, above: "mask" }).grad.map((g) => g + 0);
    expect([...masked]).toEqual([-Math.exp(0.5), 0, 0]);
  });
});

describe("value loss", () => {
  it("takes the larger of the plain and the clipped error, with its gradient", () => {
    const found = valueLoss([2, 0.1, 9, Number.NaN], [0, 0, 9, 0], [0, 1, 8, 1], [1, 1, 1, 0], 0.5);
    expect([...found.loss]).toEqual([2, 0.405, 0.5, 0].map((x) => expect.closeTo(x, 12)));
    expect([...found.grad]).toEqual([2, -0.9, 1, 0]);
    expect(valueLoss([1], [0], [3], [1], 0.5).grad[0]).toBe(0);
  });
});
