import { describe, expect, it } from "vitest";
import { buildBatch } from "../../src/rl/batch/build_batch.ts";
import { agreementMetrics, logprobAgreement } from "../../src/rl/batch/logprob_agreement.ts";
import { call, group, rollout } from "./groups.ts";

const groups = [
  group("t", [
    rollout("bad", 0, [call([1], [2, 3]), call([8], [4], { versions: [2] })]),
    rollout("good", 1, [call([1], [5], { constrained: true }), call([9], [6], { versions: null })]),
  ]),
];

describe("agreement of log-probabilities", () => {
  it("keeps tokens of the trained weights, of others, and of constrained distributions apart", () => {
    for (const view of ["trie", "transition"] as const) {
      const batch = buildBatch(groups, { view, version: 3 });
      const recorded = batch.rows.flatMap((row) => [...row.oldLogprob]);
      const targets = batch.rows.flatMap((row) => [...row.target]);
      const shift = new Map([
        [2, 0.25],
        [3, -0.75],
        [4, 1],
        [5, 2],
        [6, -3],
      ]);
      const found = logprobAgreement(
        batch,
        recorded.map((value, i) => value + (shift.get(targets[i] as number) ?? 0)),
        3,
        groups,
      );
      expect(found.own).toEqual({ records: 2, max: 0.75, mean: 0.5 });
      expect(found.mixed).toEqual({ records: 2, max: 3, mean: 2 });
      expect(found.constrained).toEqual({ records: 1, max: 2, mean: 2 });
      expect(agreementMetrics(found)).toMatchObject({
        "training/logprob_diff_max": 0.75,
        "training/logprob_diff_mean_mixed": 2,
        "training/logprob_diff_n_constrained": 1,
      });
    }
  });

  it("does not hide a NaN, and is 0 where there is nothing", () => {
    const batch = buildBatch(groups, { view: "trie", version: 3 });
    const all = batch.rows.flatMap((row) => [...row.oldLogprob]);
    expect(
      logprobAgreement(
        batch,
        all.map(() => Number.NaN),
        3,
        groups,
      ).own.max,
    ).toBeNaN();
    expect(logprobAgreement({ ...batch, rows: [], origins: [] }, [], 3, groups).own).toEqual({
      records: 0,
      max: 0,
      mean: 0,
    });
  });
});
