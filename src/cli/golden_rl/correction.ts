import { z } from "zod";
import { LeydenError } from "../../core/errors.ts";
import { type CorrectionDiagnostics, correctionDiagnostics } from "../../rl/correction/diagnostics.ts";
import { type RejectionKind, rejectionMask } from "../../rl/correction/rejection.ts";
import { type CorrectionLevel, correctionWeights } from "../../rl/correction/weights.ts";
import { type GoldenKind, type GoldenRow, runGolden } from "./golden_file.ts";
import { matrix } from "./loss_case.ts";

const inputs = z.object({ train_logprob: matrix, rollout_logprob: matrix, mask: matrix });
type Case = z.infer<typeof inputs>;

/** Options in the golden's names: level_truncate_HIGH[_batchnorm], level_mask_LOW_HIGH. */
function weightsBy(input: Case, name: string): Float64Array[] {
  const match = /^(token|sequence|geometric)_(?:truncate_([\d.]+)|mask_([\d.]+)_([\d.]+))(_batchnorm)?$/.exec(name);
  if (match === null) throw new LeydenError("golden_format", `There is no correction "${name}".`);
  const [, level, cap, low, high, batch] = match;
  return correctionWeights(input.train_logprob, input.rollout_logprob, input.mask, {
    level: level as CorrectionLevel,
    bound: cap === undefined ? "mask" : "truncate",
    low: Number(low ?? 0),
    high: Number(cap ?? high),
    batchNormalise: batch !== undefined,
  });
}

/** Options in the golden's names: statistic|lower|upper, lower "None" for its default. */
function rejectionBy(input: Case, name: string): Uint8Array[] {
  const [kind, lower, upper] = name.split("|");
  return rejectionMask(input.train_logprob, input.rollout_logprob, input.mask, {
    kind: kind as RejectionKind,
    lower: lower === "None" ? undefined : Number(lower),
    upper: Number(upper),
  });
}

/** Runs `by` for every name that the case expects. */
const eachName =
  (by: (input: Case, name: string) => unknown) =>
  (input: Case, expected: unknown): unknown =>
    Object.fromEntries(Object.keys(expected as object).map((name) => [name, by(input, name)]));

const diagnostics = (input: Case): CorrectionDiagnostics =>
  correctionDiagnostics(input.train_logprob, input.rollout_logprob, input.mask);

const kind: GoldenKind<Case> = {
  inputs,
  floor: 0.01,
  checks: {
    weights: eachName(weightsBy),
    rejection: eachName(rejectionBy),
    token_ess: (input) => diagnostics(input).ess,
    token_mean_weight: (input) => diagnostics(input).meanWeight,
    kl_rollout_train_k1: (input) => diagnostics(input).k1,
    kl_k3: (input) => diagnostics(input).k3,
  },
};

/** rollout_correction.json: importance weights, rejection masks and diagnostics. */
export function runCorrection(json: unknown, file: string): GoldenRow[] {
  return runGolden(json, kind, file);
}
