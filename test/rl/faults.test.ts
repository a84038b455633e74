/** Faults that other trainers shipped, each named after its report: what must hold here instead. */
import { describe, expect, it } from "vitest";
import { estimateAdvantages } from "../../src/rl/advantages/registry.ts";
import type { GroupRecord } from "../../src/rl/batch/batch_input.ts";
import { buildBatch } from "../../src/rl/batch/build_batch.ts";
import { miniBatchOf } from "../../src/rl/batch/mini_batches.ts";
import { prepareBatch } from "../../src/rl/batch/prepare_batch.ts";
import { correctionDiagnostics } from "../../src/rl/correction/diagnostics.ts";
import { correctionWeights } from "../../src/rl/correction/weights.ts";
import { klToken } from "../../src/rl/kl.ts";
import { gspo } from "../../src/rl/losses/gspo.ts";
import { policyLosses } from "../../src/rl/losses/registry.ts";
import { normalisations, rowWeights, weightedLoss } from "../../src/rl/normalisation.ts";
import { call, group, pair, rollout } from "./groups.ts";
import { spellRecords } from "./row_reading.ts";

const none = { logprobs: null, refLogprobs: null, values: null };

/** Four rollouts of one task; the first makes as many calls as given, none of which continues another. */
function turns(n: number): GroupRecord {
  const calls = Array.from({ length: n }, (_, i) => call([10 + i], [20 + i, 2]));
  return group("t", [
    rollout("a", 1, calls),
    rollout("b", 0, [call([1], [3, 2])]),
    rollout("c", 0.3, [call([1], [4])]),
    rollout("d", 0, [call([1], [5])]),
  ]);
}

describe("rewards and advantages", () => {
  it("fractional rewards stay what they are (agent-lightning 640, 662)", () => {
    const found = buildBatch([turns(1)], { advantage: { estimator: "dr_grpo" } }).rollouts;
    expect(found.find((r) => r.id === "c")?.reward).toBe(0.3);
    expect(found.find((r) => r.id === "c")?.advantage).toBeCloseTo(0.3 - 1.3 / 4, 15);
  });

  it("a second conversion gives the same, and what came in is not changed (agent-lightning 613)", () => {
    const groups = [pair(), { ...turns(3), id: "u" }];
    const before = structuredClone(groups);
    const options = { correction: null, oldLogprobs: "recomputed" } as const;
    const prepared = prepareBatch(groups, options);
    const logprobs = new Float32Array(prepared.rows.reduce((n, row) => n + row.src.length, 0)).fill(-0.5);
    const first = prepared.finish({ ...none, logprobs });
    expect(prepared.finish({ ...none, logprobs })).toEqual(first);
    expect(prepareBatch(groups, options).finish({ ...none, logprobs })).toEqual(first);
    expect(groups).toEqual(before);
  });

  it("every rollout of a group counts in its mean (PipelineRL 54)", () => {
    const units = [1, 0, 0, 0].map((reward) => ({ group: "g", reward, tokens: 5 }));
    expect([...estimateAdvantages(units, { estimator: "dr_grpo" })]).toEqual([0.75, -0.25, -0.25, -0.25]);
  });

  it("without the deviation an easy task does not outweigh a balanced one (tinker-cookbook 579)", () => {
    const units = (rewards: number[], name: string) => rewards.map((reward) => ({ group: name, reward, tokens: 1 }));
    const all = [...units([1, 1, 1, 0.99], "easy"), ...units([1, 0, 1, 0], "hard")];
    const pull = (values: Float64Array, from: number) =>
      values.slice(from, from + 4).reduce((s, v) => s + Math.abs(v), 0);
    const plain = estimateAdvantages(all, { estimator: "grpo", std: "none" });
    const scaled = estimateAdvantages(all, { estimator: "grpo", std: "group" });
    expect(pull(plain, 0) / pull(plain, 4)).toBeLessThan(0.01);
    expect(pull(scaled, 0) / pull(scaled, 4)).toBeGreaterThan(0.5);
  });

  it("groups of equal rewards can be left out of KL and denominators too (TRL 5777, 7068)", () => {
    const dead = group("u", [rollout("x", 1, [call([1], [2])]), rollout("y", 1, [call([1], [3])])]);
    const options = { skipZeroAdvantage: false, zeroVariance: "exclude" } as const;
    const { rows, metrics } = buildBatch([pair(), dead], options);
    expect(rows.map((row) => row.src.length)).toEqual([5]);
    expect(metrics["training/n_groups_zero_variance_excluded"]).toBe(1);
    expect(spellRecords(rows).find((r) => r.target === 6)?.weight).toBe(0.5);
  });
});

describe("records", () => {
  it("only sampled tokens are predicted, each from the token before it (verl 3287)", () => {
    const g = group("t", [
      rollout("a", 1, [call([1, 2], [3]), call([1, 2, 3, 8, 9], [4])]),
      rollout("b", 0, [call([1, 2], [5])]),
    ]);
    for (const view of ["trie", "trajectory", "rows_best_prefix"] as const) {
      const found = spellRecords(buildBatch([g], { view }).rows).map((r) => `${r.context.join(" ")} > ${r.target}`);
      expect(found.sort()).toEqual(["1 2 3 8 9 > 4", "1 2 > 3", "1 2 > 5"].sort());
    }
  });

  it("a call without its log-probabilities is left out and counted, not filled in; the others stay (TRL 6166, 6693)", () => {
    const holes = call([1], [7, 8], { logprobs: [-0.5, Number.NaN] });
    const short = call([2], [7, 8], { logprobs: [-0.5] });
    const absent = call([3], [7], { logprobs: null });
    const g = group("t", [rollout("a", 1, [holes, short, absent, call([4], [9])]), rollout("b", 0, [call([4], [6])])]);
    const { rows, metrics } = buildBatch([g]);
    expect(metrics["training/n_calls_without_logprobs"]).toBe(3);
    expect(spellRecords(rows).map((r) => [r.target, r.oldLogprob])).toEqual(
      expect.arrayContaining([
        [9, -0.25],
        [6, -0.25],
      ]),
    );
    expect(rows.flatMap((row) => [...row.oldLogprob])).toHaveLength(2);
  });

  it("old tokens are counted by their versions, mixed calls among them (slime 1800)", () => {
    const mixed = call([1], [2, 3], { versions: [5, 7] });
    const { metrics } = buildBatch([group("t", [rollout("a", 1, [mixed]), rollout("b", 0, [call([1], [4])])])], {
      version: 7,
    });
    expect(metrics).toMatchObject({ "async/age_max": 4, "async/n_mixed_calls": 1 });
    const bounded = buildBatch([group("t", [rollout("a", 1, [mixed]), rollout("b", 0, [call([1], [4])])])], {
      ...{ version: 7, maxAge: 2 },
    });
    expect(bounded.metrics["training/n_rollouts_stale"]).toBe(1);
    expect(bounded.rollouts.map((r) => r.id)).toEqual(["a"]);
  });
});

describe("normalisation and optimizer steps", () => {
  it("seq-mean-token-sum-norm divides by the number of rows as well as the length (verl 3741)", () => {
    const shares = Array.from({ length: 6 }, (_, i) => ({ rollout: `${i}`, group: "g", tokens: 4 }));
    expect([...rowWeights(shares, "seq-mean-token-sum-norm", 10)]).toEqual(new Array(6).fill(1 / 60));
  });

  it("a constant length is a learning rate: doubling it halves the loss and nothing else (slime 2090)", () => {
    const { rows: once } = buildBatch([pair()], { normalisation: "seq-mean-token-sum-norm", normalisationLength: 8 });
    const { rows: twice } = buildBatch([pair()], { normalisation: "seq-mean-token-sum-norm", normalisationLength: 16 });
    expect(twice.map((row) => [...row.weight].map((w) => 2 * w))).toEqual(once.map((row) => [...row.weight]));
  });

  it("each optimizer step is normalised over its own tokens, however the batch is split (TRL 6024, 5619)", () => {
    const groups = [turns(1), { ...turns(1), id: "u" }].map((g) => ({
      ...g,
      rollouts: g.rollouts.map((r) => ({ ...r, id: `${g.id}${r.id}` })),
    }));
    for (const miniBatches of [1, 2, 3]) {
      const { rows, steps } = buildBatch(groups, {
        normalisation: "token-mean",
        miniBatches,
        skipZeroAdvantage: false,
      });
      for (const { from, to } of steps) {
        const weights = rows.slice(from, to).flatMap((row) => [...row.weight]);
        expect(weights.reduce((a, b) => a + b, 0)).toBeCloseTo(1, 6);
      }
    }
  });

  it("more turns do not mean more optimizer steps, and any number of rows divides (SkyRL 1529, 1501; agentcore 131)", () => {
    for (const n of [1, 2, 5, 17]) {
      const { steps, rows } = buildBatch([turns(n)], { miniBatches: 3, skipZeroAdvantage: false });
      expect(steps).toHaveLength(3);
      expect(steps.at(-1)?.to).toBe(rows.length);
    }
    const units = ["a", "a", "a", "b", "c"].map((id) => ({ rollout: id, group: "g", tokens: 1 }));
    const parts = miniBatchOf(units, { miniBatches: 2, miniBatchBy: "rollout", seed: 4 });
    expect(new Set(parts.slice(0, 3)).size).toBe(1);
    expect(new Set(parts).size).toBe(2);
  });

  it("a loss is what its rows say, whatever lies outside the mask (verl's seq-mean modes, OpenRLHF 1240, NeMo-RL 4120)", () => {
    const mask = [
      [1, 1, 0],
      [0, 1, 0],
    ];
    const losses = [
      [1, 2, Number.NaN],
      [Number.POSITIVE_INFINITY, 3, Number.NEGATIVE_INFINITY],
    ];
    const shares = [
      { rollout: "a", group: "g", tokens: 2 },
      { rollout: "b", group: "g", tokens: 1 },
    ];
    for (const mode of normalisations) {
      expect(Number.isFinite(weightedLoss(losses, mask, rowWeights(shares, mode, 4)))).toBe(true);
    }
    const row = {
      ...{ logprob: [-1, Number.NEGATIVE_INFINITY], oldLogprob: [-1, Number.NaN], advantages: [1, Number.NaN] },
      mask: [1, 0],
    };
    for (const [name, loss] of Object.entries(policyLosses)) {
      const { loss: value, grad } = loss.tokens(row, loss.defaults as never);
      expect([name, Number.isFinite(value[0]), value[1], grad[1]]).toEqual([name, true, 0, 0]);
    }
  });
});

describe("ratios and corrections", () => {
  it("a geometric weight does not grow with a sequence's length as a product does (TRL 4772)", () => {
    const train = [new Array<number>(100).fill(-0.988)];
    const sampler = [new Array<number>(100).fill(-1)];
    const mask = [new Array<number>(100).fill(1)];
    const weigh = (level: "sequence" | "geometric") =>
      correctionWeights(train, sampler, mask, {
        level,
        bound: "mask",
        low: 0,
        high: 100,
        batchNormalise: false,
      })[0]?.[0];
    expect(weigh("sequence")).toBeCloseTo(Math.exp(1.2), 9);
    expect(weigh("geometric")).toBeCloseTo(Math.exp(0.012), 9);
  });

  it("GSPO over a rollout's rows is another ratio than row by row; both can be had (SkyRL 1278)", () => {
    const g = turns(3);
    const unitsOf = (ratioOf: "row" | "rollout") => {
      const { rows } = buildBatch([g], { ratioOf, skipZeroAdvantage: false });
      return new Set(rows.flatMap((row) => [...(row.unit as Int32Array)])).size;
    };
    expect(unitsOf("row")).toBe(6);
    expect(unitsOf("rollout")).toBe(4);
    const far = { logprob: [-1], oldLogprob: [-500], advantages: [1], mask: [1] };
    expect(gspo.tokens(far, gspo.defaults).loss[0]).toBeCloseTo(-(1 + 4e-4), 9);
  });

  it("rare tokens with huge ratios stay finite in every loss (prime-rl 2085)", () => {
    for (const [name, loss] of Object.entries(policyLosses)) {
      for (const [logprob, old] of [
        [-1e-6, -120],
        [-120, -1e-6],
      ] as const) {
        for (const advantage of [1, -1]) {
          const row = { logprob: [logprob], oldLogprob: [old], advantages: [advantage], mask: [1] };
          const { loss: value, grad } = loss.tokens(row, loss.defaults as never);
          expect([name, Number.isFinite(value[0]), Number.isFinite(grad[0])]).toEqual([name, true, true]);
        }
      }
    }
  });

  it("metrics stay numbers when a mask rejects every token (verl's IcePop)", () => {
    const options = {
      correction: { level: "token", bound: "mask", low: 0.9, high: 1.1, batchNormalise: true },
    } as const;
    const prepared = prepareBatch([pair()], options);
    const logprobs = new Float32Array(5).fill(-9);
    const { rows, metrics } = prepared.finish({ ...none, logprobs });
    expect(Object.entries(metrics).filter(([, v]) => !Number.isFinite(v))).toEqual([]);
    expect(rows.flatMap((row) => [...row.advantage])).toEqual([0, 0, 0, 0, 0]);
    expect(correctionDiagnostics([], [], []).ess).toBe(0);
  });

  it("a stale sampler is weighed down, not trusted: truncated weights on the advantage (verl 2953, 3694; marin 8955)", () => {
    const options = {
      advantage: { estimator: "dr_grpo" },
      oldLogprobs: "recomputed",
      correction: { level: "token", bound: "truncate", low: 0, high: 2, batchNormalise: false },
    } as const;
    const prepared = prepareBatch([pair()], options);
    const sampler = prepared.rows.flatMap((row) => [...row.oldLogprob]);
    const logprobs = Float32Array.from(sampler, (l, i) => l + (i === 0 ? Math.log(0.5) : i === 1 ? 3 : 0));
    const { rows } = prepared.finish({ ...none, logprobs });
    const plain = buildBatch([pair()], { advantage: { estimator: "dr_grpo" } }).rows;
    const ratio = rows.flatMap((row, i) => [...row.advantage].map((a, r) => a / (plain[i]?.advantage[r] as number)));
    expect(ratio.map((r) => Math.round(1e4 * r) / 1e4)).toEqual([0.5, 2, 1, 1, 1]);
    expect(rows.flatMap((row) => [...row.oldLogprob])).toEqual([...logprobs]);
    expect(rows.map((row) => [...row.weight])).toEqual(plain.map((row) => [...row.weight]));
  });

  it("the estimator with the reverse KL's gradient is k2, whatever value is shown (TRL 3104, open-instruct 530, 534)", () => {
    for (const kind of ["k1+", "k3+", "k2"] as const) expect(klToken(kind, -1, -1.5).grad).toBe(0.5);
    expect(klToken("k1", -1, -1.5)).toEqual({ value: 0.5, grad: 1 });
    expect(klToken("k3", -1, -1.5).grad).toBeCloseTo(1 - Math.exp(-0.5), 12);
    // Raising the policy above the reference raises k1.
    expect(klToken("k1", -0.9, -1.5).value).toBeGreaterThan(klToken("k1", -1, -1.5).value);
  });
});
