import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Rng, seedKey } from "../../src/core/rng.ts";
import { staleness } from "../../src/rl/staleness.ts";
import { bootstrapInterval, pairedDifference, passAtKEstimate, wilsonInterval } from "../../src/rl/statistics.ts";

describe("pass@k", () => {
  it("is the chance that k of the n samples hold a success", () => {
    expect(passAtKEstimate(4, 1, 1)).toBeCloseTo(0.25, 12);
    expect(passAtKEstimate(4, 1, 2)).toBeCloseTo(0.5, 12);
    expect(passAtKEstimate(4, 3, 2)).toBe(1);
    expect(passAtKEstimate(8, 0, 8)).toBe(0);
    expect(passAtKEstimate(8, 1, 8)).toBe(1);
  });

  it("agrees with counting subsets", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), fc.nat(), fc.nat(), (n, a, b) => {
        const c = a % (n + 1);
        const k = 1 + (b % n);
        let hit = 0;
        let all = 0;
        for (let set = 0; set < 1 << n; set++) {
          if ([...set.toString(2)].filter((bit) => bit === "1").length !== k) continue;
          all++;
          if ((set & ((1 << c) - 1)) !== 0) hit++;
        }
        expect(passAtKEstimate(n, c, k)).toBeCloseTo(hit / all, 10);
      }),
    );
  });

  it("does not overflow for many samples", () => {
    expect(passAtKEstimate(100_000, 10, 10_000)).toBeCloseTo(1 - 0.9 ** 10, 3);
  });

  it("says what it cannot estimate", () => {
    expect(() => passAtKEstimate(4, 2, 8)).toThrow("pass@8 cannot be estimated from 4 samples with 2 successes.");
  });
});

describe("Wilson interval", () => {
  it("has the published ends", () => {
    // Newcombe 1998, table I: 81 of 263 and 0 of 20.
    expect(wilsonInterval(81, 263)).toEqual({
      value: 81 / 263,
      low: expect.closeTo(0.2553, 4),
      high: expect.closeTo(0.3662, 4),
    });
    expect(wilsonInterval(0, 20)).toEqual({ value: 0, low: 0, high: expect.closeTo(0.1611, 4) });
    expect(wilsonInterval(20, 20).high).toBe(1);
    expect(wilsonInterval(0, 0)).toEqual({ value: 0, low: 0, high: 1 });
  });
});

describe("bootstrap", () => {
  it("covers the true mean in about 95 of 100 experiments", () => {
    let covered = 0;
    for (let seed = 0; seed < 200; seed++) {
      const rng = new Rng(seedKey(seed));
      const values = Array.from({ length: 60 }, () => (rng.uniform() < 0.3 ? 1 : 0));
      const { low, high } = bootstrapInterval(values, seedKey(1000 + seed), 400);
      if (low <= 0.3 && 0.3 <= high) covered++;
    }
    expect(covered).toBeGreaterThanOrEqual(178);
    expect(covered).toBeLessThan(200);
  });

  it("is the same for the same key, and a point for equal values", () => {
    const values = [0, 1, 1, 0, 0.5];
    expect(bootstrapInterval(values, seedKey(7))).toEqual(bootstrapInterval(values, seedKey(7)));
    expect(bootstrapInterval([0.25, 0.25], seedKey(1))).toEqual({ value: 0.25, low: 0.25, high: 0.25 });
    expect(bootstrapInterval([], seedKey(1))).toEqual({ value: 0, low: 0, high: 0 });
  });
});

describe("paired difference", () => {
  it("is narrower than the two means apart when tasks differ more than models", () => {
    const a = Array.from({ length: 50 }, (_, i) => i / 50);
    const b = a.map((x, i) => x + (i % 5 === 0 ? 0 : 0.1));
    const found = pairedDifference(a, b, seedKey(1));
    expect(found.value).toBeCloseTo(0.08, 12);
    expect(found.low).toBeGreaterThan(0.06);
    expect(found).toMatchObject({ better: 40, worse: 0, equal: 10 });
    expect(found.pValue).toBeLessThan(1e-9);
  });

  it("finds nothing in equal models", () => {
    expect(pairedDifference([1, 0], [1, 0], seedKey(1))).toEqual({
      ...{ value: 0, low: 0, high: 0, better: 0, worse: 0, equal: 2, pValue: 1 },
    });
    expect(pairedDifference([0, 0, 0], [1, 1, -1], seedKey(1)).pValue).toBe(1);
    expect(pairedDifference([0, 0, 0, 0, 0], [1, 1, 1, 1, 1], seedKey(1)).pValue).toBeCloseTo(2 / 32, 12);
  });

  it("refuses lists that cannot be paired", () => {
    expect(() => pairedDifference([1], [1, 2], seedKey(1))).toThrow("1 results cannot be paired with 2.");
  });
});

describe("staleness", () => {
  it("ages tokens by version, and counts mixed samples and unknown versions apart", () => {
    const found = staleness(
      [
        { length: 3, versions: [4, 4, 5] },
        { length: 1, versions: [5] },
        { length: 2, versions: null },
        { length: 2, versions: [5] },
      ],
      5,
    );
    expect(found).toEqual({
      ...{ ageMean: 0.5, ageMax: 1, mixedSamples: 1, unversionedTokens: 4 },
      histogram: new Map([
        [1, 2],
        [0, 2],
      ]),
    });
    expect(staleness([], 3).ageMean).toBe(0);
  });
});
