import { LeydenError } from "../../core/errors.ts";
import type { TrainRow } from "../../schema/engine.ts";
import { type AdvantageConfig, returnsRewards } from "../advantages/registry.ts";
import { isTokenLevel, needsValues } from "../advantages/token_registry.ts";
import { type RowShare, rowWeights } from "../normalisation.ts";
import type { LinearViewName } from "../views/linear_views.ts";
import { type Batch, type BatchOptions, batchDefaults, type GroupRecord, type RowOrigin } from "./batch_input.ts";
import { batchMetrics } from "./batch_metrics.ts";
import { correctBatch } from "./correct_batch.ts";
import { linearLayout } from "./linear_units.ts";
import { miniBatchOf } from "./mini_batches.ts";
import { type Selection, select } from "./select.ts";
import { gather, type UnitSequence, unitSequences } from "./sequences.ts";
import { spread } from "./spread.ts";
import { summariseRollouts } from "./summarise_rollouts.ts";
import { sumsByCall, tokenRewards } from "./token_rewards.ts";
import { klPenalties, penalised, type RecordScores, rewardMetrics, writeTokenAdvantages } from "./token_terms.ts";
import { trieLayout } from "./trie_units.ts";
import { callName, type Penalties, tokenReturns, type UnitAdvantages, unitAdvantages } from "./unit_advantages.ts";
import type { BuiltRows, Layout, UnitTerms } from "./units.ts";
import { unitMeans, writeByCall } from "./write_advantages.ts";

/** Which models have to be asked before a batch can be finished. */
export interface ScoresNeeded {
  policy: boolean;
  reference: boolean;
  values: boolean;
}

/** Rows laid out, still without what only the device knows. */
export interface PreparedBatch {
  rows: readonly TrainRow[];
  /** Parallel to `rows`. */
  origins: readonly RowOrigin[];
  needs: ScoresNeeded;
  /** @throws LeydenError "missing_scores" when a model that `needs` names was not asked. */
  finish(scores: RecordScores): Batch;
}

/** What the options ask of the device before advantages and weights are known. */
export function scoresNeeded(options: BatchOptions): ScoresNeeded {
  const corrected = options.correction !== null || options.rejections.length > 0 || options.opsmDelta > 0;
  return {
    policy: options.oldLogprobs === "recomputed" || options.klInReward > 0 || corrected,
    reference: options.klInReward > 0,
    values: needsValues(options.advantage),
  };
}

/**
 * From finished groups to the rows of an update's optimizer steps. Within a step the loss is sum(weight * token loss)
 * over its records, whatever the micro-batches. The same groups give the same batch in every order of arrival (Agent
 * Lightning's views excepted, whose rows are by definition in the order of the calls). An empty batch has no rows and
 * says so in its metrics.
 * @throws LeydenError "trained_twice", "missing_reward"; ConfigError on an unknown estimator or normalisation.
 */
export function prepareBatch(groups: readonly GroupRecord[], options: Partial<BatchOptions> = {}): PreparedBatch {
  const full: BatchOptions = { ...batchDefaults, ...options };
  const selection = select(groups, full);
  const layout =
    full.view === "trie"
      ? trieLayout(selection.rollouts, full.maxRowTokens)
      : linearLayout(selection.rollouts, full as BatchOptions & { view: LinearViewName });
  return new Preparation(groups, full, selection, layout);
}

class Preparation implements PreparedBatch {
  readonly needs: ScoresNeeded;
  private readonly groups: readonly GroupRecord[];
  private readonly options: BatchOptions;
  private readonly selection: Selection;
  private readonly layout: Layout;
  /** Scalar advantages that need nothing of the device; null when they have to wait. */
  private readonly early: UnitAdvantages | null;
  private readonly terms: UnitTerms[];
  private readonly built: BuiltRows;
  private readonly steps: Batch["steps"];
  private readonly rolloutNumbers: ReadonlyMap<string, number>;

  constructor(groups: readonly GroupRecord[], options: BatchOptions, selection: Selection, layout: Layout) {
    this.groups = groups;
    this.options = options;
    this.selection = selection;
    this.layout = layout;
    this.needs = scoresNeeded(options);
    this.rolloutNumbers = new Map(selection.rollouts.map(({ id }, i) => [id, i]));
    const waits = isTokenLevel(options.advantage) || options.klInReward > 0;
    this.early = waits ? null : this.scalarAdvantages();
    const part = miniBatchOf(layout.units, options);
    this.terms = this.unitTerms(part);
    const built = Array.from({ length: Math.max(1, options.miniBatches) }, (_, step) =>
      layout.build(this.terms.map((term, i) => ({ ...term, trained: term.trained && part[i] === step }))),
    );
    this.built = joined(built);
    let from = 0;
    this.steps = built.map(({ rows }) => {
      const step = { from, to: from + rows.length };
      from = step.to;
      return step;
    });
  }

  get rows(): readonly TrainRow[] {
    return this.built.rows;
  }

  get origins(): readonly RowOrigin[] {
    return this.built.origins;
  }

  finish(scores: RecordScores): Batch {
    requireScores(this.needs, scores);
    const batch: Batch = {
      rows: this.built.rows.map((row, i) => this.ownRow(row, i)),
      origins: this.built.origins,
      steps: this.steps,
      rollouts: [],
      units: this.layout.units,
      metrics: {},
    };
    const { policy, values } = this.needs;
    const sequences = policy || values || this.early === null ? unitSequences(batch) : [];
    const sampler = gather(sequences, ({ row, record }) => batch.rows[row]?.oldLogprob[record] as number);
    const advantages = this.writeAdvantages(batch, sequences, scores);
    const estimated = batch.rows.flatMap((row) => Array.from(row.advantage));
    if (policy) {
      const trainer = gather(sequences, ({ flat }) => scores.logprobs?.[flat] as number);
      Object.assign(batch.metrics, correctBatch(batch, sequences, trainer, sampler, this.options));
      if (this.options.oldLogprobs === "recomputed") {
        for (const [i, { places }] of sequences.entries()) {
          for (const [t, { row, record }] of places.entries()) {
            (batch.rows[row]?.oldLogprob as Float32Array)[record] = trainer[i]?.[t] as number;
          }
        }
      }
    }
    return this.summarised(batch, advantages, estimated);
  }

  /** A copy of a laid-out row that this batch may write to, with the sequences that coupled losses see. */
  private ownRow(row: TrainRow, index: number): TrainRow {
    const { call, calls } = this.built.origins[index] as RowOrigin;
    const unit = call.map((c) => {
      const { unit: own, rollout } = calls[c] as RowOrigin["calls"][number];
      return this.options.ratioOf === "row" ? own : (this.rolloutNumbers.get(rollout) as number);
    });
    const { weight, advantage, oldLogprob } = row;
    return { ...row, unit, weight: weight.slice(), advantage: advantage.slice(), oldLogprob: oldLogprob.slice() };
  }

  private scalarAdvantages(penalties?: Penalties): UnitAdvantages {
    const { layout, selection, options } = this;
    return unitAdvantages(layout, selection.rollouts, options.advantage as AdvantageConfig, options, penalties);
  }

  /** Weights are normalised over each optimizer step, all its units counted, those of advantage 0 too. */
  private unitTerms(part: readonly number[]): UnitTerms[] {
    const { units } = this.layout;
    const { normalisation, normalisationLength } = this.options;
    const weights = new Float64Array(units.length);
    for (let step = 0; step < Math.max(1, this.options.miniBatches); step++) {
      const members = [...units.keys()].filter((i) => part[i] === step);
      const own = rowWeights(
        members.map((i) => units[i] as RowShare),
        normalisation,
        normalisationLength,
      );
      members.forEach((i, k) => {
        weights[i] = own[k] as number;
      });
    }
    const { early } = this;
    const trained = this.trainedUnits();
    return units.map((_, i) => ({
      weight: weights[i] as number,
      advantage: early?.units[i] ?? 0,
      trained: trained[i] as boolean,
    }));
  }

  /** Which units are computed: where those without an advantage are left out, all that the loss of another depends on. */
  private trainedUnits(): boolean[] {
    const { early, layout, options } = this;
    const { units, calls } = layout;
    // The mean of all importance weights scales every loss.
    const needsAll = !options.skipZeroAdvantage || options.correction?.batchNormalise === true;
    if (early === null || needsAll) return units.map(() => true);
    const isZero = (i: number): boolean => {
      if (early.calls === null) return early.units[i] === 0;
      const rollout = units[i]?.rollout ?? "";
      return (calls[i] ?? []).every(({ call }) => early.calls?.get(callName(rollout, call.id)) === 0);
    };
    const moving = units.map((_, i) => !isZero(i));
    if (options.ratioOf === "row") return moving;
    // Units of a rollout share their ratio; a rollout is never split over optimizer steps.
    const rollouts = new Set(units.filter((_, i) => moving[i]).map(({ rollout }) => rollout));
    return units.map(({ rollout }) => rollouts.has(rollout));
  }

  /** Puts advantages into the rows; returns each unit's mean. */
  private writeAdvantages(batch: Batch, sequences: readonly UnitSequence[], scores: RecordScores): number[] {
    const { layout, selection, options } = this;
    if (this.early !== null) {
      Object.assign(batch.metrics, this.returnMetrics());
      writeByCall(batch, this.early);
      return this.early.units;
    }
    const { penalties, kl } = klPenalties(sequences, scores, options.klInReward);
    const rewards = penalised(tokenRewards(batch, sequences, selection.rollouts), penalties);
    if (options.klInReward > 0) batch.metrics["actor/reward_kl_penalty"] = kl;
    if (isTokenLevel(options.advantage)) {
      const groups = layout.units.map((unit) => unit.group);
      Object.assign(batch.metrics, writeTokenAdvantages(batch, sequences, groups, rewards, scores, options.advantage));
    } else {
      Object.assign(batch.metrics, rewardMetrics(rewards));
      const costs = sumsByCall(batch, sequences, penalties);
      const later = this.scalarAdvantages(costs);
      Object.assign(batch.metrics, this.returnMetrics(costs));
      for (const { unit, places } of sequences) {
        for (const { row, record } of places) {
          (batch.rows[row]?.advantage as Float32Array)[record] = later.units[unit] as number;
        }
      }
      writeByCall(batch, later);
    }
    return unitMeans(batch, sequences, layout.units.length);
  }

  /** Returns where they are not the advantages. */
  private returnMetrics(penalties?: Penalties): Record<string, number> {
    const { layout, selection, options } = this;
    if (!returnsRewards(options.advantage as AdvantageConfig)) return {};
    return spread("critic/returns", tokenReturns(layout, selection.rollouts, options, penalties));
  }

  private summarised(batch: Batch, advantages: readonly number[], estimated: readonly number[]): Batch {
    const { groups, options, selection, layout, terms } = this;
    const rollouts = summariseRollouts(selection.rollouts, layout.units, advantages);
    const means = terms.map((term, i) => ({ ...term, advantage: advantages[i] as number }));
    const { units, calls } = layout;
    const { rows, origins } = batch;
    const facts = { groups, options, selection, units, calls, terms: means, rollouts, rows, origins };
    const metrics = {
      ...batchMetrics({ ...facts, advantages: estimated }),
      ...selection.counts,
      ...layout.counts,
      ...this.built.counts,
    };
    return { ...batch, rollouts, metrics: { ...metrics, ...batch.metrics } };
  }
}

/** Rows of all steps, one after another, and their counts summed. */
function joined(parts: readonly BuiltRows[]): BuiltRows {
  const counts: Record<string, number> = {};
  for (const part of parts) {
    for (const [name, n] of Object.entries(part.counts)) counts[name] = (counts[name] ?? 0) + n;
  }
  return { rows: parts.flatMap((p) => p.rows), origins: parts.flatMap((p) => p.origins), counts };
}

function requireScores(needs: ScoresNeeded, scores: RecordScores): void {
  const given = { policy: scores.logprobs, reference: scores.refLogprobs, values: scores.values };
  const missing = (["policy", "reference", "values"] as const).filter((name) => needs[name] && given[name] === null);
  if (missing.length === 0) return;
  throw new LeydenError(
    "missing_scores",
    `The batch lacks what these models say of its records: ${missing.join(", ")}.`,
    {
      do: "Ask Engine.scoreRows for the batch's rows first.",
    },
  );
}
