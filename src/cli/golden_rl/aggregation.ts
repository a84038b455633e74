import { z } from "zod";
import { type Normalisation, rowShares, rowWeights, weightedLoss } from "../../rl/normalisation.ts";
import { type Check, type GoldenKind, type GoldenRow, runGolden } from "./golden_file.ts";
import { matrix } from "./loss_case.ts";

const name = z.union([z.number(), z.string()]);
const aggregationInputs = z.object({
  loss_mat: matrix,
  mask: matrix,
  rollout_ids: z.array(name),
  group_ids: z.array(name),
});
type AggregationCase = z.infer<typeof aggregationInputs>;

const aggregateBy =
  (mode: Normalisation): Check<AggregationCase> =>
  (input) => {
    const owners = { rollouts: input.rollout_ids.map(String), groups: input.group_ids.map(String) };
    const width = Math.max(0, ...input.mask.map((row) => row.length));
    const weights = rowWeights(rowShares(input.mask, owners), mode, width);
    return {
      loss: weightedLoss(input.loss_mat, input.mask, weights),
      grad: input.mask.map((row, i) => row.map((m) => (m === 0 ? 0 : (weights[i] as number)))),
    };
  };

const aggregationKind: GoldenKind<AggregationCase> = {
  inputs: aggregationInputs,
  floor: 0.01,
  checks: {
    "token-mean": aggregateBy("token-mean"),
    "token-sum": aggregateBy("token-sum"),
    "seq-mean-token-sum": aggregateBy("seq-mean-token-sum"),
    "seq-mean-token-sum-norm": aggregateBy("seq-mean-token-sum-norm"),
    "seq-mean-token-mean": aggregateBy("seq-mean-token-mean"),
    "rollout-mean": aggregateBy("rollout"),
    "rollout-mean-by-rows": aggregateBy("rows"),
    "prompt-mean": aggregateBy("prompt-mean"),
  },
};

/** loss_agg.json: every way to average token losses. */
export function runLossAggregation(json: unknown, file: string): GoldenRow[] {
  return runGolden(json, aggregationKind, file);
}
