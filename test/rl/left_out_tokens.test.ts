// Plan: a token that rejection, OPSM or a mask leaves out has weight 0, so no term of the loss pulls on it, whichever loss
// and with a KL; the others' weights, and with them the denominators, stay; truncation leaves nothing out; what was laid out
// is not written to.
import { describe, expect, it } from "vitest";
import type { BatchOptions } from "../../src/rl/batch/batch_input.ts";
import { buildBatch } from "../../src/rl/batch/build_batch.ts";
import { prepareBatch } from "../../src/rl/batch/prepare_batch.ts";
import { klToken } from "../../src/rl/kl.ts";
import { policyLosses } from "../../src/rl/losses/registry.ts";
import type { TrainRow } from "../../src/schema/engine.ts";
import { pair } from "./groups.ts";

/** One row per rollout, so that a row is a sequence. */
const linear = { view: "trajectory", advantage: { estimator: "dr_grpo" } } as const;
const token = { level: "token", low: 0.5, high: 2, batchNormalise: false } as const;

/** Log-probabilities of the trainer, a drift from the sampler for each target. */
type Drift = Readonly<Record<number, number>>;

/** The pair's records, sampled tokens 2 to 5 (the failure) and 6, after the trainer has drifted. */
function corrected(options: Partial<BatchOptions>, drift: Drift) {
  const prepared = prepareBatch([pair()], { ...linear, ...options });
  const logprobs = Float32Array.from(
    prepared.rows.flatMap((row) => Array.from(row.target, (id, r) => (row.oldLogprob[r] as number) + (drift[id] ?? 0))),
  );
  const before = JSON.stringify(prepared.rows);
  const { rows, metrics } = prepared.finish({ logprobs, refLogprobs: null, values: null });
  expect(JSON.stringify(prepared.rows)).toBe(before);
  return { rows, metrics };
}

function byTarget(rows: readonly TrainRow[], field: "weight" | "advantage"): Record<number, number> {
  return Object.fromEntries(rows.flatMap((row) => Array.from(row.target, (id, r) => [id, row[field][r] as number])));
}

/** What all terms of a loss push each token with at log-probability -3: policy loss, KL to a reference, by target. */
function pulls(rows: readonly TrainRow[], loss: "ppo" | "dro" | "gspo" | "gmpo"): Record<number, number> {
  const { tokens, defaults } = policyLosses[loss];
  return Object.fromEntries(
    rows.flatMap((row) => {
      const logprob = row.target.length === 0 ? [] : Array.from(row.target, () => -3);
      const mask = Array.from(row.weight, (w) => (w === 0 ? 0 : 1));
      const { grad } = tokens(
        { logprob, oldLogprob: row.oldLogprob, advantages: row.advantage, mask },
        defaults as never,
      );
      return Array.from(row.target, (id, r) => {
        const kl = klToken("k3", -3, -1).grad;
        return [id, (row.weight[r] as number) * ((grad[r] as number) + 0.5 * kl)];
      });
    }),
  );
}

const plain = byTarget(buildBatch([pair()], linear).rows, "weight");

/** Ways to leave out the failure's first two tokens, or the whole of it. */
const ways: [string, Partial<BatchOptions>, Drift, number[]][] = [
  ["rejected tokens", { rejections: [{ kind: "token_k2", upper: 0.5 }] }, { 2: 2, 3: -2 }, [2, 3]],
  ["rejected rows", { rejections: [{ kind: "seq_mean_k1", upper: 1.5 }] }, { 2: -3 }, [2, 3, 4, 5]],
  ["OPSM", { opsmDelta: 0.5 }, { 2: -3, 6: -3 }, [2, 3, 4, 5]],
  ["IcePop", { correction: { ...token, bound: "mask" } }, { 2: 2, 3: -2 }, [2, 3]],
];

describe("what a correction leaves out", () => {
  for (const [name, options, drift, out] of ways) {
    it(`${name}: weight 0 for them alone, the others as they were`, () => {
      const { rows } = corrected(options, drift);
      const expected = Object.fromEntries(
        Object.entries(plain).map(([id, w]) => [id, out.includes(Number(id)) ? 0 : w]),
      );
      expect(byTarget(rows, "weight")).toEqual(expected);
      for (const id of out) expect(byTarget(rows, "advantage")[id]).toBe(0);
    });

    it(`${name}: no term of any loss pulls on them`, () => {
      for (const loss of ["ppo", "dro", "gspo", "gmpo"] as const) {
        const found = pulls(corrected(options, drift).rows, loss);
        for (const id of [2, 3, 4, 5, 6]) expect([loss, id, found[id] === 0]).toEqual([loss, id, out.includes(id)]);
      }
    });
  }

  it("truncated weights leave nothing out, however small they are", () => {
    const { rows } = corrected({ correction: { ...token, bound: "truncate" } }, { 2: -40, 3: 9 });
    expect(byTarget(rows, "weight")).toEqual(plain);
    expect(byTarget(rows, "advantage")[2]).toBeCloseTo(-0.5 * Math.exp(-20), 16);
    expect(byTarget(rows, "advantage")[3]).toBe(-1);
  });

  it("a sequence's ratio is of the tokens that are left", () => {
    const { rows } = corrected({ rejections: [{ kind: "token_k2", upper: 0.5 }] }, { 2: 2, 3: -2 });
    const row = rows.find(({ target }) => target.length > 1) as TrainRow;
    const mask = Array.from(row.weight, (w) => (w === 0 ? 0 : 1));
    expect(mask).toEqual([0, 0, 1, 1]);
    const logprob = Array.from(row.oldLogprob, (old, r) => old + (r < 2 ? 1 : 1e-4));
    const { loss } = policyLosses.gspo.tokens(
      { logprob, oldLogprob: row.oldLogprob, advantages: row.advantage, mask },
      policyLosses.gspo.defaults,
    );
    expect(loss[2]).toBeCloseTo(0.5 * Math.exp(1e-4), 6);
  });
});
