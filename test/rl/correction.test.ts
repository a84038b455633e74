import { describe, expect, it } from "vitest";
import { correctionDiagnostics } from "../../src/rl/correction/diagnostics.ts";
import { perplexityMetrics } from "../../src/rl/correction/perplexity.ts";
import { offPolicySequenceMasked, rejectionMask } from "../../src/rl/correction/rejection.ts";
import { type CorrectionOptions, correctionWeights } from "../../src/rl/correction/weights.ts";

const train = [[-1, -2, Number.NaN], [-1]];
const rollout = [[-2, -2, Number.NEGATIVE_INFINITY], [-1.5]];
const mask = [[1, 1, 0], [1]];
const tis: CorrectionOptions = { level: "token", bound: "truncate", low: 0, high: 2, batchNormalise: false };

function weights(options: Partial<CorrectionOptions>): number[][] {
  return correctionWeights(train, rollout, mask, { ...tis, ...options }).map((row) => [...row]);
}

describe("importance weights", () => {
  it("truncate or drop, per token", () => {
    expect(weights({})).toEqual([[2, 1, 0], [Math.exp(0.5)]]);
    expect(weights({ bound: "mask", low: 0.5 })).toEqual([[0, 1, 0], [Math.exp(0.5)]]);
  });

  it("per row: the product, or the geometric mean, of its sampled tokens", () => {
    expect(weights({ level: "sequence", high: 9 })).toEqual([[Math.E, Math.E, 0], [Math.exp(0.5)]]);
    expect(weights({ level: "geometric" })).toEqual([[Math.exp(0.5), Math.exp(0.5), 0], [Math.exp(0.5)]]);
  });

  it("normalised by the batch have mean 1", () => {
    const flat = weights({ batchNormalise: true }).flat();
    expect(flat.reduce((a, b) => a + b, 0) / 3).toBeCloseTo(1, 12);
  });

  it("all rejected stay 0 instead of dividing by zero (verl's metrics do)", () => {
    expect(weights({ bound: "mask", low: 5, high: 6, batchNormalise: true })).toEqual([[0, 0, 0], [0]]);
  });

  it("of a forbidden token are tiny, never NaN (NeMo-RL 4154)", () => {
    const found = correctionWeights([[Number.NEGATIVE_INFINITY]], [[-1]], [[1]], tis);
    expect(found[0]?.[0]).toBeCloseTo(Math.exp(-20), 20);
  });
});

describe("rejection", () => {
  it("k1 is sampler minus trainer, bounded by ratios", () => {
    const kept = rejectionMask(train, rollout, mask, { kind: "token_k1", upper: 2, lower: 0.5 });
    expect(kept.map((row) => [...row])).toEqual([[0, 1, 0], [1]]);
    const above = rejectionMask([[-2]], [[-1]], [[1]], { kind: "token_k1", upper: 2, lower: 0.1 });
    expect([...(above[0] as Uint8Array)]).toEqual([0]);
  });

  it("rejects whole rows by sum, mean or maximum", () => {
    for (const kind of ["seq_sum_k2", "seq_mean_k2", "seq_max_k2", "seq_mean_k3"] as const) {
      const kept = rejectionMask(train, rollout, mask, { kind, upper: 0.2 });
      expect(
        kept.map((row) => [...row]),
        kind,
      ).toEqual([[0, 0, 0], [1]]);
    }
  });

  it("keeps an empty row empty and rejects NaN", () => {
    expect([...(rejectionMask([[0]], [[0]], [[0]], { kind: "seq_mean_k1", upper: 2 })[0] as Uint8Array)]).toEqual([0]);
    const nan = rejectionMask([[Number.NaN]], [[-1]], [[1]], { kind: "token_k3", upper: 2 });
    expect([...(nan[0] as Uint8Array)]).toEqual([0]);
  });

  it("refuses an unknown statistic", () => {
    expect(() => rejectionMask([], [], [], { kind: "seq_max_k1" as never, upper: 2 })).toThrow(
      'There is no rejection statistic "seq_max_k1".',
    );
  });

  it("OPSM leaves out rows of negative advantage that drifted", () => {
    const row = (advantage: number, delta: number): boolean =>
      offPolicySequenceMasked([-3, Number.NaN], [-1, 0], [1, 0], advantage, delta);
    expect([row(-1, 1.5), row(-1, 2.5), row(1, 1.5), row(0, 1.5)]).toEqual([true, false, false, false]);
    expect(offPolicySequenceMasked([-3], [-1], [0], -1, 0)).toBe(false);
  });
});

describe("diagnostics", () => {
  it("of equal policies are the identity", () => {
    expect(correctionDiagnostics([[-1, -2]], [[-1, -2]], [[1, 1]])).toEqual({
      ...{ k1: 0, k3: 0, maxLogRatio: 0, meanWeight: 1, ess: 1, truncatedFrac: 0 },
    });
  });

  it("count what was truncated, and are 0 without tokens", () => {
    const found = correctionDiagnostics(train, rollout, mask);
    expect(found.truncatedFrac).toBeCloseTo(1 / 3, 12);
    expect(found.k1).toBeCloseTo(-0.5, 12);
    expect(found.maxLogRatio).toBe(1);
    expect(found.ess).toBeLessThan(1);
    expect(correctionDiagnostics([[1]], [[0]], [[0]]).ess).toBe(0);
  });
});

describe("perplexities", () => {
  it("compare sequence by sequence, and stay numbers when a sequence is lost", () => {
    const mask = [[1, 1, 0], [1]];
    const found = perplexityMetrics([[-1, -2, Number.NaN], [-3]], [[-1, -1, Number.NaN], [-3]], mask);
    expect(found["rollout_corr/training_ppl"]).toBeCloseTo((Math.exp(1.5) + Math.exp(3)) / 2, 12);
    expect(found["rollout_corr/rollout_ppl"]).toBeCloseTo((Math.exp(1) + Math.exp(3)) / 2, 12);
    expect(found["rollout_corr/log_ppl_diff"]).toBeCloseTo(0.25, 12);
    expect(found["rollout_corr/log_ppl_diff_max"]).toBe(0.5);
    expect(found["rollout_corr/ppl_ratio"]).toBeCloseTo((Math.exp(0.5) + 1) / 2, 12);
    expect(found["rollout_corr/chi2_token"]).toBeCloseTo((1 + Math.exp(-2) + 1) / 3 - 1, 12);
    expect(found["rollout_corr/chi2_seq"]).toBeCloseTo((Math.exp(-2) + 1) / 2 - 1, 12);
    const far = perplexityMetrics([[-1e4]], [[-1]], [[1]]);
    for (const [name, value] of Object.entries({ ...far, ...perplexityMetrics([], [], []) })) {
      expect([name, Number.isFinite(value)]).toEqual([name, true]);
    }
  });
});
