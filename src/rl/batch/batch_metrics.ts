import type { TrainRow } from "../../schema/engine.ts";
import { isReward } from "../../schema/reward.ts";
import type { RowShare } from "../normalisation.ts";
import { mean } from "../reward_statistics.ts";
import { signedMass } from "../signed_mass.ts";
import { staleness } from "../staleness.ts";
import type { GroupRecord, RowOrigin } from "./batch_input.ts";
import type { Selection } from "./select.ts";
import { type SequenceFacts, sequenceMetrics } from "./sequence_metrics.ts";
import type { UnitTerms } from "./units.ts";

/** What the metrics of a batch are computed from. */
export interface BatchFacts extends SequenceFacts {
  groups: readonly GroupRecord[];
  selection: Selection;
  rows: readonly TrainRow[];
  /** Parallel to `rows`. */
  origins: readonly RowOrigin[];
  terms: readonly UnitTerms[];
}

/** Rewards of all rollouts of the step, in order, missing ones filled: what the policy earned, trained or not. */
function meanReward({ groups, options }: BatchFacts): number {
  const rewards = groups
    .flatMap((group) => group.rollouts)
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .map(({ reward }) => (isReward(reward) ? reward : options.rewardFill));
  return mean(rewards);
}

function replyLengths({ selection }: BatchFacts): Record<string, number> {
  const lengths = selection.rollouts.flatMap((rollout) => rollout.calls.map((call) => call.replyIds.length));
  const withCalls = selection.rollouts.filter((rollout) => rollout.calls.length > 0).length;
  return {
    "training/n_turns": withCalls === 0 ? 0 : lengths.length / withCalls,
    "response_length/training/avg_by_turn": mean(lengths),
    "response_length/training/max_by_turn": lengths.reduce((a, b) => Math.max(a, b), 0),
    "response_length/training/min_by_turn": lengths.length === 0 ? 0 : lengths.reduce((a, b) => Math.min(a, b)),
  };
}

function ages({ selection, options }: BatchFacts): Record<string, number> {
  const samples = selection.rollouts.flatMap((rollout) =>
    rollout.calls.map((call) => ({ length: call.replyIds.length, versions: call.versions })),
  );
  const found = staleness(samples, options.version);
  return {
    "async/age_mean": found.ageMean,
    "async/age_max": found.ageMax,
    "async/n_mixed_calls": found.mixedSamples,
    "async/n_tokens_without_version": found.unversionedTokens,
  };
}

/** Groups of which every token's advantage is 0; what is left out of the compute is so for that. */
function zeroAdvantageGroups({ rollouts, rows, origins, advantages }: BatchFacts): number {
  const flat = new Set(rollouts.map((rollout) => rollout.group));
  let from = 0;
  for (const [i, { src }] of rows.entries()) {
    const own = advantages.slice(from, from + src.length);
    from += src.length;
    if (own.some((advantage) => advantage !== 0)) flat.delete(origins[i]?.group ?? "");
  }
  return flat.size;
}

/** Numbers of a batch under the names of metrics.jsonl; always all of them, 0 where there is nothing to count. */
export function batchMetrics(facts: BatchFacts): Record<string, number> {
  const { units, terms, rollouts, rows } = facts;
  const constrained = facts.selection.rollouts.flatMap((r) => r.calls.filter((call) => call.constrained === true));
  return {
    "training/reward": meanReward(facts),
    "training/n_groups": new Set(rollouts.map((rollout) => rollout.group)).size,
    "training/n_zero_adv_groups": zeroAdvantageGroups(facts),
    "training/n_sample": units.length,
    "training/n_sample_trained": terms.reduce((n, term) => n + (term.trained ? 1 : 0), 0),
    "training/rows_per_rollout": rollouts.length === 0 ? 0 : units.length / rollouts.length,
    "training/n_tokens": units.reduce((n, unit) => n + unit.tokens, 0),
    "training/n_tokens_trained": rows.reduce((n, row) => n + row.src.length, 0),
    "training/n_tokens_computed": rows.reduce((n, row) => n + row.ids.length, 0),
    "training/n_tokens_constrained": constrained.reduce((n, call) => n + call.replyIds.length, 0),
    "training/signed_mass": signedMass(
      terms.map((term, i) => term.weight * (units[i] as RowShare).tokens),
      terms.map((term) => term.advantage),
    ),
    "training/rollout_level_advantage/n_rows": units.length,
    "training/rollout_level_advantage/n_rollouts": rollouts.length,
    "training/rollout_level_advantage/n_multi_row_rollouts": rollouts.filter((rollout) => rollout.rows > 1).length,
    "training/rollout_level_advantage/max_rows_per_rollout": rollouts.reduce((n, r) => Math.max(n, r.rows), 0),
    ...sequenceMetrics(facts),
    ...replyLengths(facts),
    ...ages(facts),
  };
}
