import { runAdvantages } from "./golden_rl/advantages.ts";
import { runRolloutLevel, runRowDrop } from "./golden_rl/agent_lightning.ts";
import { runLossAggregation } from "./golden_rl/aggregation.ts";
import { runCorrection } from "./golden_rl/correction.ts";
import { type GoldenRow, goldenName } from "./golden_rl/golden_file.ts";
import { runMerge } from "./golden_rl/merge.ts";
import { runDecoupledPpo, runPolicyLoss } from "./golden_rl/policy_losses.ts";
import { runSampling } from "./golden_rl/sampling.ts";
import { runGae, runKl } from "./golden_rl/token_level.ts";

/** Every kind of rl golden file, by the `name` that it states. */
const kinds: Readonly<Record<string, (json: unknown, file: string) => GoldenRow[]>> = {
  advantages: runAdvantages,
  agl_rollout_level: runRolloutLevel,
  agl_row_drop: runRowDrop,
  decoupled_ppo: runDecoupledPpo,
  gae: runGae,
  kl: runKl,
  loss_agg: runLossAggregation,
  policy_loss: runPolicyLoss,
  rollout_correction: runCorrection,
  sampling: runSampling,
};

/**
 * Checks one rl/*.json file against the float64 functions of src/rl; a kind that is not known is one row with
 * pass null. `file` names it in the rows.
 * @throws FormatError "golden_format" when a known kind does not have the form of its README.
 */
export function runRlGolden(json: unknown, file?: string): GoldenRow[] {
  const name = goldenName(json);
  const run = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
  if (run !== undefined) return run(json, file ?? `${name}.json`);
  const note = `There is no check for the kind "${name}".`;
  return [{ file: file ?? name, check: name, cases: 0, worst: 0, tolerance: 0, pass: null, note }];
}

/**
 * Checks a merge.json file: rows of Agent Lightning's levels and longest-prefix rows from the gateway's events.
 * @throws FormatError "golden_format" when it does not have the form of its README.
 */
export function runMergeGolden(json: unknown, file = "merge.json"): GoldenRow[] {
  return runMerge(json, file);
}
