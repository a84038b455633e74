import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Normalisation,
  normalisations,
  type RowShare,
  rowShares,
  rowWeights,
  weightedLoss,
} from "../../src/rl/normalisation.ts";
import { signedMass } from "../../src/rl/signed_mass.ts";

/** Figure 5 of the Agent Lightning report: A in two rows, B in three, C in one. */
const figure5: RowShare[] = [
  { rollout: "A", group: "g", tokens: 50 },
  { rollout: "A", group: "g", tokens: 100 },
  { rollout: "B", group: "g", tokens: 30 },
  { rollout: "B", group: "g", tokens: 30 },
  { rollout: "B", group: "g", tokens: 30 },
  { rollout: "C", group: "g", tokens: 40 },
];

/** Share of the loss of each rollout when every token loss is 1. */
function shares(mode: Normalisation): Record<string, number> {
  const weights = rowWeights(figure5, mode, 100);
  const out: Record<string, number> = {};
  figure5.forEach((row, i) => {
    out[row.rollout] = (out[row.rollout] ?? 0) + (weights[i] as number) * row.tokens;
  });
  return out;
}

const close = (expected: Record<string, number>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(expected).map(([key, value]) => [key, expect.closeTo(value, 12)]));

const share = fc.record({
  rollout: fc.constantFrom("a", "b", "c", "d"),
  group: fc.constant("g"),
  tokens: fc.integer({ min: 0, max: 9 }),
});

describe("normalisation", () => {
  it("gives every rollout one share however many rows and tokens it has (agent-lightning 593, 594)", () => {
    expect(shares("rollout")).toEqual(close({ A: 1 / 3, B: 1 / 3, C: 1 / 3 }));
  });

  it("by rows is the same loss, smaller by rows per rollout, as released", () => {
    expect(shares("rows")).toEqual(close({ A: 1 / 6, B: 1 / 6, C: 1 / 6 }));
  });

  it("weighs by tokens, rows or groups otherwise", () => {
    expect(shares("token-mean")).toEqual(close({ A: 150 / 280, B: 90 / 280, C: 40 / 280 }));
    expect(shares("token-sum")).toEqual(close({ A: 150, B: 90, C: 40 }));
    expect(shares("seq-mean-token-sum")).toEqual(close({ A: 25, B: 15, C: 40 / 6 }));
    expect(shares("seq-mean-token-sum-norm")).toEqual(close({ A: 0.25, B: 0.15, C: 0.4 / 6 }));
    expect(shares("seq-mean-token-mean")).toEqual(close({ A: 2 / 6, B: 3 / 6, C: 1 / 6 }));
    expect(shares("prompt-mean")).toEqual(close({ A: 150 / 280, B: 90 / 280, C: 40 / 280 }));
  });

  it("means add up to 1 whenever there is a token", () => {
    const means = ["rollout", "token-mean", "seq-mean-token-mean", "prompt-mean"] as const;
    fc.assert(
      fc.property(fc.array(share, { minLength: 1, maxLength: 8 }), fc.constantFrom(...means), (rows, mode) => {
        const total = rowWeights(rows, mode).reduce((sum, w, i) => sum + w * (rows[i] as RowShare).tokens, 0);
        expect(total).toBeCloseTo(rows.some((row) => row.tokens > 0) ? 1 : 0, 12);
      }),
    );
  });

  it("gives rows without a token weight 0, and nothing at all for a step without one", () => {
    for (const mode of normalisations) {
      const weights = rowWeights([{ rollout: "a", group: "g", tokens: 0 }], mode, 8);
      expect([...weights], mode).toEqual([0]);
    }
  });

  it("counts over the whole step, so that any partition into micro-batches adds up to it (verl 906, 5877, 5625, 7200)", () => {
    const matrix = fc.array(fc.array(fc.double({ min: -5, max: 5, noNaN: true }), { minLength: 4, maxLength: 4 }), {
      minLength: 2,
      maxLength: 6,
    });
    fc.assert(
      fc.property(matrix, fc.constantFrom(...normalisations), fc.nat(), (losses, mode, cut) => {
        const mask = losses.map((row, i) => row.map((_, t) => ((i + t) % 3 === 0 ? 0 : 1)));
        const weights = rowWeights(rowShares(mask), mode, 4);
        const at = 1 + (cut % (losses.length - 1));
        const part = (from: number, to: number): number =>
          weightedLoss(losses.slice(from, to), mask.slice(from, to), weights.slice(from, to));
        expect(part(0, at) + part(at, losses.length)).toBeCloseTo(weightedLoss(losses, mask, weights), 10);
      }),
    );
  });

  it("keeps NaN and -inf outside the mask out of the loss", () => {
    const mask = [
      [1, 0],
      [0, 0],
    ];
    const losses = [
      [2, Number.NaN],
      [Number.NEGATIVE_INFINITY, Number.NaN],
    ];
    for (const mode of normalisations) {
      expect(Number.isFinite(weightedLoss(losses, mask, rowWeights(rowShares(mask), mode, 2))), mode).toBe(true);
    }
  });

  it("refuses what it does not know", () => {
    expect(() => rowWeights(figure5, "rollouts" as never)).toThrow('There is no normalisation "rollouts".');
    expect(() => rowWeights(figure5, "seq-mean-token-sum-norm")).toThrow(
      "seq-mean-token-sum-norm divides by a length, which is 0.",
    );
  });
});

describe("signed mass", () => {
  it("is negative when failures are longer and tokens weigh alike, 0 under Eq. 16", () => {
    const rows: RowShare[] = [
      { rollout: "ok", group: "g", tokens: 10 },
      { rollout: "bad", group: "g", tokens: 90 },
    ];
    const mass = (mode: Normalisation): number => {
      const weights = rowWeights(rows, mode);
      return signedMass(
        rows.map((row, i) => (weights[i] as number) * row.tokens),
        [0.5, -0.5],
      );
    };
    expect(mass("token-mean")).toBeCloseTo(-0.8, 12);
    expect(mass("rollout")).toBe(0);
    expect(signedMass([1, 1], [0, 0])).toBe(0);
    expect(signedMass([], [])).toBe(0);
  });
});
