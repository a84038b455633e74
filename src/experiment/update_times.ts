import type { UpdateResult } from "../schema/engine.ts";
import type { CriticResult, ScoreRowsResult } from "../schema/row_scores.ts";

/** Parts of an update after its rollouts, by verl's names. */
export const updateParts = ["adv", "old_log_prob", "ref", "values", "update_critic", "update_actor"] as const;

/** A part of `updateParts`. */
export type UpdatePart = (typeof updateParts)[number];

/**
 * Milliseconds of an update's parts; one that the objective does not have is absent. `adv` is all from finished rollouts
 * to rows with advantages, on the processor. A value head's values come with `old_log_prob`, its loss with
 * `update_actor`, being passes of the policy.
 */
export type UpdateTimes = Readonly<Partial<Record<UpdatePart, number>>>;

/** What an update's parts took by what the engine says of them. `ms` is null where no model was asked. */
export function updateTimes(
  adv: number,
  ms: ScoreRowsResult["ms"] | null,
  steps: readonly UpdateResult[],
  criticSteps: readonly CriticResult[],
): UpdateTimes {
  const inSteps = steps.flatMap(({ referenceMs }) => (referenceMs === undefined ? [] : [referenceMs]));
  const ofReference = [...(ms === null || ms.reference === null ? [] : [ms.reference]), ...inSteps];
  return {
    adv,
    ...(ms === null || ms.policy === null ? {} : { old_log_prob: ms.policy }),
    ...(ofReference.length === 0 ? {} : { ref: sum(ofReference) }),
    ...(ms === null || ms.values === null ? {} : { values: ms.values }),
    ...(criticSteps.length === 0 ? {} : { update_critic: sum(criticSteps.map((step) => step.trainMs)) }),
    update_actor: sum(steps.map((step) => step.trainMs)) - sum(inSteps),
  };
}

/** The times of several updates taken one after another. */
export function addedTimes(times: readonly UpdateTimes[]): UpdateTimes {
  const out: Partial<Record<UpdatePart, number>> = {};
  for (const part of updateParts) {
    const known = times.flatMap((one) => one[part] ?? []);
    if (known.length > 0) out[part] = sum(known);
  }
  return out;
}

/** The times in seconds under the names of metrics.jsonl. */
export function timeMetrics(times: UpdateTimes): Record<string, number> {
  return Object.fromEntries(Object.entries(times).map(([part, ms]) => [`timing_s/${part}`, ms / 1000]));
}

/** Tokens of an update's sequences: those that follow their prompts, and all. */
export interface SequenceTokens {
  readonly response: number;
  readonly total: number;
}

/** The same off a batch's metrics. */
export function sequenceTokens(metrics: Readonly<Record<string, number>>): SequenceTokens {
  const sequences = metrics["training/n_sample"] ?? 0;
  return {
    response: Math.round((metrics["response_length/mean"] ?? 0) * sequences),
    total: metrics["global_seqlen/mean"] ?? 0,
  };
}

/** Parts that verl divides by all tokens; "gen" it divides by those of the responses. */
const perToken: readonly string[] = ["ref", "values", "adv", "update_critic", "update_actor"];

/** Milliseconds per token of generation and of an update's parts. Source: verl's compute_timing_metrics. */
export function timePerToken(genMs: number, times: UpdateTimes, tokens: SequenceTokens): Record<string, number> {
  const of = (ms: number, count: number): number => (count === 0 ? 0 : ms / count);
  const parts = Object.entries(times).filter(([part]) => perToken.includes(part));
  return {
    "timing_per_token_ms/gen": of(genMs, tokens.response),
    ...Object.fromEntries(parts.map(([part, ms]) => [`timing_per_token_ms/${part}`, of(ms, tokens.total)])),
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}
