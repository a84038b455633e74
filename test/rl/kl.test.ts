import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { adaptKl, klInReward, klKinds, klToken } from "../../src/rl/kl.ts";

const logprob = fc.double({ min: -6, max: 0, noNaN: true });

describe("KL estimators", () => {
  it("k1 rises when the policy gives the sampled token more mass than the reference", () => {
    expect(klToken("k1", -0.5, -1).value).toBeGreaterThan(0);
    expect(klToken("k1", -1, -0.5).value).toBeLessThan(0);
  });

  it("have gradients that central differences confirm, straight-through forms that of k2", () => {
    fc.assert(
      fc.property(logprob, logprob, (l, ref) => {
        fc.pre(Math.abs(l - ref) > 1e-3 && Math.abs(klToken("k3_noclamp", l, ref).value - 10) > 1e-2);
        for (const kind of klKinds) {
          const of = kind.endsWith("+") ? "k2" : kind;
          const numeric = (klToken(of, l + 1e-6, ref).value - klToken(of, l - 1e-6, ref).value) / 2e-6;
          const { grad } = klToken(kind, l, ref);
          expect(Math.abs(grad - numeric), kind).toBeLessThan(1e-5 * Math.max(1, Math.abs(numeric)));
        }
      }),
    );
  });

  it("k2 and k3 are never negative, and all are 0 for equal policies", () => {
    fc.assert(
      fc.property(logprob, logprob, (l, ref) => {
        expect(klToken("k2", l, ref).value).toBeGreaterThanOrEqual(0);
        expect(klToken("k3", l, ref).value).toBeGreaterThanOrEqual(0);
      }),
    );
    for (const kind of klKinds) expect(klToken(kind, -1.25, -1.25).value).toBe(0);
  });

  it("k3 stays bounded where the reference forbids the token", () => {
    expect(klToken("k3", -1, Number.NEGATIVE_INFINITY)).toEqual({ value: 10, grad: 0 });
    expect(klToken("k3", -50, -0.5)).toEqual({ value: 10, grad: 0 });
  });

  it("k3 keeps its digits for nearly equal policies", () => {
    expect(klToken("k3", -1, -1 - 1e-9).value).toBeCloseTo(5e-19, 24);
  });
});

describe("KL in the reward", () => {
  it("is subtracted on sampled tokens only", () => {
    const rewards = klInReward([[1, 2]], [[-1, Number.NaN]], [[-2, Number.NaN]], [[1, 0]], 0.1);
    expect([...(rewards[0] as Float64Array)]).toEqual([0.9, 2]);
  });
});

describe("adaptive coefficient", () => {
  it("follows the error, at most 20 % of it per horizon", () => {
    const state = { coef: 0.1, target: 0.1, horizon: 1000 };
    expect(adaptKl(state, 0.11, 1000).coef).toBeCloseTo(0.11, 12);
    expect(adaptKl(state, 9, 1000).coef).toBeCloseTo(0.12, 12);
    expect(adaptKl(state, 0, 1000).coef).toBeCloseTo(0.08, 12);
    expect(adaptKl(state, 0.1, 1000).coef).toBe(0.1);
  });

  it("moves by at most the clipped error where a step is longer than the horizon, and stays positive", () => {
    const state = { coef: 0.1, target: 0.5, horizon: 1 };
    expect(adaptKl(state, 0, 8).coef).toBeCloseTo(0.08, 12);
    expect(adaptKl(state, 9, 8).coef).toBeCloseTo(0.12, 12);
    expect(adaptKl(state, 0.55, 64).coef).toBeCloseTo(0.11, 12);
    let last = state;
    for (let i = 0; i < 1000; i++) last = adaptKl(last, 0, 1e6);
    expect(last.coef).toBeGreaterThan(0);
  });
});
