/** verl's numbers of a batch, which counts sequences: the rows of a linear view, or the lineages of the trie. */
import type { RowShare } from "../normalisation.ts";
import type { BatchOptions, BatchRollout } from "./batch_input.ts";
import { spread } from "./spread.ts";
import type { Layout } from "./units.ts";

/** What these numbers are computed from; `calls` is parallel to `units`. */
export interface SequenceFacts {
  options: BatchOptions;
  units: readonly RowShare[];
  calls: Layout["calls"];
  rollouts: readonly BatchRollout[];
  /** Estimated for every record that is computed, as verl states them: importance weights and rejections come after. */
  advantages: readonly number[];
}

/** One sequence in tokens. */
interface SequenceLength {
  /** Of its first call's prompt, and of all that follows it: replies and what is observed between them. */
  prompt: number;
  response: number;
  /** As long as the view allows; a response also where a reply ran out of tokens. */
  promptAtLimit: boolean;
  responseAtLimit: boolean;
}

/** A sequence is its first call's prompt and what the calls that continue it add, cut to the view's limits. */
function lengthOf(calls: Layout["calls"][number], { limits }: BatchOptions): SequenceLength {
  const ends = calls.map(({ call }) => call.promptIds.length + call.replyIds.length);
  const start = calls.reduce((n, { call }) => Math.min(n, call.promptIds.length), ends[0] ?? 0);
  const end = ends.reduce((a, b) => Math.max(a, b), start);
  return {
    prompt: Math.min(start, limits.maxPromptLength),
    response: Math.min(end - start, limits.maxResponseLength),
    promptAtLimit: start >= limits.maxPromptLength,
    responseAtLimit: end - start >= limits.maxResponseLength || calls.some(({ call }) => call.cutOff === true),
  };
}

function share<T>(values: readonly T[], holds: (value: T) => boolean): number {
  return values.length === 0 ? 0 : values.filter(holds).length / values.length;
}

function lengthMetrics(lengths: readonly SequenceLength[]): Record<string, number> {
  const answered = lengths.filter(({ response }) => response > 0);
  const total = lengths.reduce((n, { prompt, response }) => n + prompt + response, 0);
  const responses = (name: string, of: readonly SequenceLength[]): Record<string, number> => ({
    ...spread(
      name,
      of.map(({ response }) => response),
    ),
    [`${name}/clip_ratio`]: share(of, ({ responseAtLimit }) => responseAtLimit),
  });
  return {
    ...responses("response_length", lengths),
    ...responses("response_length_non_aborted", answered),
    "response/aborted_ratio": share(lengths, ({ response }) => response === 0),
    ...spread(
      "prompt_length",
      lengths.map(({ prompt }) => prompt),
    ),
    "prompt_length/clip_ratio": share(lengths, ({ promptAtLimit }) => promptAtLimit),
    // These are sums per device, before and after rows are spread over devices: here one has them all.
    ...Object.fromEntries(
      ["mean", "max", "min", "balanced_max", "balanced_min"].map((name) => [`global_seqlen/${name}`, total]),
    ),
    "global_seqlen/minmax_diff": 0,
  };
}

/** The advantage of every sampled token; a sequence that is left out of the compute is so for having none. */
function tokenAdvantages({ units, advantages }: SequenceFacts): number[] {
  const tokens = units.reduce((n, unit) => n + unit.tokens, 0);
  return [...advantages, ...new Array<number>(Math.max(0, tokens - advantages.length)).fill(0)];
}

/**
 * Scores and rewards by sequence (what its rollout earned), advantages and returns by sampled token, lengths by
 * sequence, under verl's names. Estimators over token rewards, a KL in the reward, and estimators whose returns are not
 * their advantages, state their own numbers instead.
 * Source: verl's compute_data_metrics.
 */
export function sequenceMetrics(facts: SequenceFacts): Record<string, number> {
  const { units, calls, options, rollouts } = facts;
  const earned = new Map(rollouts.map(({ id, reward }) => [id, reward]));
  const scores = units.map(({ rollout }) => earned.get(rollout) ?? 0);
  const advantages = tokenAdvantages(facts);
  return {
    ...spread("critic/score", scores),
    ...spread("critic/rewards", scores),
    ...spread("critic/advantages", advantages),
    ...spread("critic/returns", advantages),
    ...lengthMetrics(calls.map((own) => lengthOf(own, options))),
  };
}
