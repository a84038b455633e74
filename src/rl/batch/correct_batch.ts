import type { TrainRow } from "../../schema/engine.ts";
import { everything } from "../advantages/token_estimator.ts";
import { correctionDiagnostics } from "../correction/diagnostics.ts";
import { perplexityMetrics } from "../correction/perplexity.ts";
import { offPolicySequenceMasked, rejectionMask } from "../correction/rejection.ts";
import { correctionWeights } from "../correction/weights.ts";
import { forEachMasked, type Rows } from "../masked.ts";
import { standardDeviation } from "../reward_statistics.ts";
import type { Batch, BatchOptions } from "./batch_input.ts";
import { gather, type UnitSequence } from "./sequences.ts";

type Correction = Pick<BatchOptions, "correction" | "rejections" | "opsmDelta">;

/** Token weights that the correction and the rejections leave, (N, T), and how many tokens each took. */
interface Kept {
  weights: Float64Array[];
  rejected: number;
  offPolicy: number;
}

/** Takes out what a rejection leaves out; counts what was still in. */
function reject(kept: Kept, trainer: Rows, sampler: Rows, mask: Rows, { rejections }: Correction): void {
  for (const rejection of rejections) {
    const inside = rejectionMask(trainer, sampler, mask, rejection);
    forEachMasked(inside, mask, (keep, row, t) => {
      const weights = kept.weights[row] as Float64Array;
      if (keep === 1 || weights[t] === 0) return;
      weights[t] = 0;
      kept.rejected++;
    });
  }
}

/** OPSM over the sequences: those of negative mean advantage that drifted from the sampler. */
function maskOffPolicy(kept: Kept, trainer: Rows, sampler: Rows, advantages: Rows, delta: number): void {
  if (delta === 0) return;
  for (const [i, weights] of kept.weights.entries()) {
    const row = advantages[i] as Float64Array;
    const advantage = row.reduce((a, b) => a + b, 0);
    const mask = new Uint8Array(row.length).fill(1);
    if (!offPolicySequenceMasked(trainer[i] ?? [], sampler[i] ?? [], mask, advantage, delta)) continue;
    weights.fill(0);
    kept.offPolicy += row.length;
  }
}

/**
 * Weighs the records of a batch by how likely the trainer's policy was to draw what the sampler drew. Weights multiply
 * the advantage, which every policy loss but DRO is homogeneous in. A token whose weight is 0 (masked, rejected, OPSM) is
 * out of the loss altogether: out of its KL, entropy, value and quadratic terms, and of the ratio of its sequence. The
 * denominators stay, so that what is left out does not make the rest louder. Returns metrics under verl's names.
 * `trainer` and `sampler` are log-probabilities, (N, T), of the sequences' tokens.
 */
export function correctBatch(
  batch: Batch,
  sequences: readonly UnitSequence[],
  trainer: Rows,
  sampler: Rows,
  options: Correction,
): Record<string, number> {
  const mask = everything(trainer);
  const advantages = gather(sequences, ({ row, record }) => batch.rows[row]?.advantage[record] as number);
  const weights =
    options.correction === null
      ? mask.map((row) => Float64Array.from(row))
      : correctionWeights(trainer, sampler, mask, options.correction);
  const kept: Kept = { weights, rejected: 0, offPolicy: 0 };
  reject(kept, trainer, sampler, mask, options);
  maskOffPolicy(kept, trainer, sampler, advantages, options.opsmDelta);
  for (const [i, { places }] of sequences.entries()) {
    for (const [t, { row, record }] of places.entries()) {
      const { advantage, weight: share } = batch.rows[row] as TrainRow;
      const weight = kept.weights[i]?.[t] as number;
      advantage[record] = weight === 0 ? 0 : (advantage[record] as number) * weight;
      if (weight === 0) share[record] = 0;
    }
  }
  return { ...driftMetrics(trainer, sampler, mask, options), ...weightMetrics(kept) };
}

/** How far the two policies are apart, whatever is done about it. */
function driftMetrics(trainer: Rows, sampler: Rows, mask: Rows, { correction }: Correction): Record<string, number> {
  const found = correctionDiagnostics(trainer, sampler, mask, correction?.high ?? 2);
  return {
    "rollout_corr/kl": found.k1,
    "rollout_corr/k3_kl": found.k3,
    ...perplexityMetrics(trainer, sampler, mask),
    "rollout_corr/max_log_ratio": found.maxLogRatio,
    "rollout_corr/rollout_is_eff_sample_size": found.ess,
    "rollout_corr/rollout_is_ratio_fraction_high": found.truncatedFrac,
  };
}

/** What the weights did; all 0 for a batch without tokens. */
function weightMetrics({ weights, rejected, offPolicy }: Kept): Record<string, number> {
  const flat = weights.flatMap((row) => [...row]);
  const n = flat.length;
  const sum = flat.reduce((a, b) => a + b, 0);
  return {
    "rollout_corr/rollout_is_mean": n === 0 ? 0 : sum / n,
    "rollout_corr/rollout_is_std": standardDeviation(flat),
    "rollout_corr/rollout_is_max": flat.reduce((a, b) => Math.max(a, b), 0),
    "rollout_corr/rollout_is_min": n === 0 ? 0 : flat.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY),
    "rollout_corr/rollout_rs_masked_fraction": n === 0 ? 0 : rejected / n,
    "rollout_corr/opsm_masked_fraction": n === 0 ? 0 : offPolicy / n,
  };
}
