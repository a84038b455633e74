import type { ScoredUnit } from "../advantages/estimator.ts";
import { estimateAdvantages } from "../advantages/registry.ts";
import { type RowShare, rowWeights } from "../normalisation.ts";
import type { LinearViewName } from "../views/linear_views.ts";
import { type Batch, type BatchOptions, type BatchRollout, batchDefaults, type GroupRecord } from "./batch_input.ts";
import { batchMetrics } from "./batch_metrics.ts";
import { linearLayout } from "./linear_units.ts";
import { type SelectedRollout, select } from "./select.ts";
import { trieLayout } from "./trie_units.ts";
import type { UnitTerms } from "./units.ts";

/** Sampled tokens of each rollout that has any, over all its units. */
function tokensByRollout(units: readonly RowShare[]): Map<string, number> {
  const tokens = new Map<string, number>();
  for (const unit of units) tokens.set(unit.rollout, (tokens.get(unit.rollout) ?? 0) + unit.tokens);
  return tokens;
}

function scoredUnit({ group, reward, greedyReward }: SelectedRollout, tokens: number): ScoredUnit {
  return { group, reward, tokens, baseline: greedyReward };
}

/**
 * The advantage of every unit. Only rollouts with sampled tokens are compared: a reward that no token earned says
 * nothing about the policy.
 */
function unitAdvantages(
  units: readonly RowShare[],
  rollouts: readonly SelectedRollout[],
  { advantage, level }: BatchOptions,
): number[] {
  if (level === "row") {
    const owners = new Map(rollouts.map((rollout) => [rollout.id, rollout]));
    const scored = units.map((unit) => scoredUnit(owners.get(unit.rollout) as SelectedRollout, unit.tokens));
    return [...estimateAdvantages(scored, advantage)];
  }
  const tokens = tokensByRollout(units);
  const present = rollouts.filter((rollout) => tokens.has(rollout.id));
  const scored = present.map((rollout) => scoredUnit(rollout, tokens.get(rollout.id) as number));
  const values = estimateAdvantages(scored, advantage);
  const byRollout = new Map(present.map((rollout, i) => [rollout.id, values[i] as number]));
  return units.map((unit) => byRollout.get(unit.rollout) as number);
}

/** What became of each rollout that has sampled tokens. */
function summarise(
  rollouts: readonly SelectedRollout[],
  units: readonly RowShare[],
  advantages: readonly number[],
): BatchRollout[] {
  const summary = new Map<string, BatchRollout>();
  for (const { id, group, task, reward } of rollouts) {
    summary.set(id, { id, group, task, reward, advantage: 0, tokens: 0, rows: 0 });
  }
  units.forEach((unit, i) => {
    const rollout = summary.get(unit.rollout) as BatchRollout;
    // Running mean over tokens: exact when all units have the same advantage.
    rollout.tokens += unit.tokens;
    rollout.rows++;
    rollout.advantage += (((advantages[i] as number) - rollout.advantage) * unit.tokens) / rollout.tokens;
  });
  return [...summary.values()].filter((rollout) => rollout.tokens > 0);
}

/**
 * From finished groups to one optimizer step's rows: the loss is sum(weight * token loss) over all records, whatever
 * the micro-batches. The same groups give the same batch in every order of arrival (Agent Lightning's views excepted,
 * whose rows are by definition in the order of the calls). An empty batch has no rows and says so in its metrics.
 * @throws LeydenError "trained_twice", "missing_reward"; ConfigError on an unknown estimator or normalisation.
 */
export function buildBatch(groups: readonly GroupRecord[], options: Partial<BatchOptions> = {}): Batch {
  const full: BatchOptions = { ...batchDefaults, ...options };
  const selection = select(groups, full);
  const layout =
    full.view === "trie"
      ? trieLayout(selection.rollouts, full.maxRowTokens)
      : linearLayout(selection.rollouts, full as BatchOptions & { view: LinearViewName });
  const advantages = unitAdvantages(layout.units, selection.rollouts, full);
  const weights = rowWeights(layout.units, full.normalisation, full.normalisationLength);
  const terms: UnitTerms[] = layout.units.map((_, i) => ({
    weight: weights[i] as number,
    advantage: advantages[i] as number,
    trained: !(full.skipZeroAdvantage && advantages[i] === 0),
  }));
  const built = layout.build(terms);
  const rollouts = summarise(selection.rollouts, layout.units, advantages);
  const metrics = batchMetrics({
    groups,
    options: full,
    selection,
    units: layout.units,
    terms,
    rollouts,
    rows: built.rows,
  });
  return {
    rows: built.rows,
    origins: built.origins,
    rollouts,
    metrics: { ...metrics, ...selection.counts, ...layout.counts, ...built.counts },
  };
}
