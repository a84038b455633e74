import { maskedMean, maskedSum, type Numbers, type Rows } from "../masked.ts";
import { mean } from "../reward_statistics.ts";

/** Bound on exponents, so that one lost sequence leaves the means numbers. */
const maxExponent = 20;

function boundedExp(x: number): number {
  return Math.exp(Math.min(Math.max(x, -maxExponent), maxExponent));
}

/**
 * How the two policies' perplexities of the sampled sequences compare, and the chi-square divergences of the sampler from
 * the trainer, by token and by sequence; all 0 for no sequences, but for the ratio, which is then 1.
 * Source: verl's rollout_corr metrics.
 */
export function perplexityMetrics(trainer: Rows, sampler: Rows, mask: Rows): Record<string, number> {
  const own = trainer.map((row, i) => maskedMean(row, mask[i] as Numbers));
  const drawn = sampler.map((row, i) => maskedMean(row, mask[i] as Numbers));
  const differences = drawn.map((logprob, i) => logprob - (own[i] as number));
  const logWeights = trainer.map((row, i) =>
    Float64Array.from(row, (logprob, t) => logprob - (sampler[i]?.[t] as number)),
  );
  const squares = logWeights.flatMap((row, i) =>
    Array.from(row, (lr) => boundedExp(2 * lr)).filter((_, t) => mask[i]?.[t] !== 0),
  );
  const whole = logWeights.map((row, i) => boundedExp(2 * maskedSum(row, mask[i] as Numbers)));
  const some = trainer.length > 0;
  return {
    "rollout_corr/training_ppl": mean(own.map((l) => boundedExp(-l))),
    "rollout_corr/rollout_ppl": mean(drawn.map((l) => boundedExp(-l))),
    "rollout_corr/log_ppl_diff": mean(differences),
    "rollout_corr/log_ppl_abs_diff": mean(differences.map(Math.abs)),
    "rollout_corr/log_ppl_diff_max": some ? differences.reduce((a, b) => Math.max(a, b)) : 0,
    "rollout_corr/log_ppl_diff_min": some ? differences.reduce((a, b) => Math.min(a, b)) : 0,
    "rollout_corr/ppl_ratio": some ? mean(differences.map(boundedExp)) : 1,
    "rollout_corr/chi2_token": squares.length === 0 ? 0 : mean(squares) - 1,
    "rollout_corr/chi2_seq": some ? mean(whole) - 1 : 0,
  };
}
