import type { Clock } from "../core/clock.ts";
import type { Batch, GroupRecord } from "../rl/batch/batch_input.ts";
import type { Engine, SkipReason, UpdateResult } from "../schema/engine.ts";
import type { CriticResult } from "../schema/row_scores.ts";
import type { Objective } from "./objective.ts";
import { scoresOf } from "./update_scores.ts";
import { preparedFor } from "./update_step.ts";
import { type SequenceTokens, sequenceTokens, type UpdateTimes, updateTimes } from "./update_times.ts";

/** Where an update is taken. */
export interface UpdateHost {
  readonly engine: Engine;
  readonly clock: Clock;
}

/** An update with the batch it was taken on: one optimizer step or several. */
export interface TakenUpdate {
  readonly batch: Batch;
  /** Every optimizer step of the policy, in order. */
  readonly steps: readonly UpdateResult[];
  /** Every step of the critic, in order; empty without one. */
  readonly criticSteps: readonly CriticResult[];
  /** Rows with the sampler's log-probabilities, and what the weights before the first step give their records. */
  readonly recorded: Pick<Batch, "rows" | "origins">;
  readonly logprobs: Float32Array;
  /** What its parts took, and over how many tokens. */
  readonly times: UpdateTimes;
  readonly tokens: SequenceTokens;
}

/**
 * Takes the optimizer steps of one update on finished groups: a scoring pass where the objective needs one, then, per
 * pass and mini-batch, a step of the critic and one of the policy. `version`: the weights that ages are counted from,
 * by default the engine's present ones. @throws as prepareBatch and the engine
 */
export async function takeUpdate(
  { engine, clock }: UpdateHost,
  id: string,
  groups: readonly GroupRecord[],
  objective: Objective,
  version?: number,
): Promise<TakenUpdate> {
  const info = await engine.info();
  const laidOut = stopwatch(clock);
  const prepared = preparedFor({ ...info, version: version ?? info.version }, groups, objective);
  const layoutMs = laidOut();
  const scores = await scoresOf(engine, id, prepared, objective);
  const finished = stopwatch(clock);
  const batch = prepared.finish(scores);
  const adv = layoutMs + finished();
  const steps: UpdateResult[] = [];
  const criticSteps: CriticResult[] = [];
  for (let epoch = 0; epoch < objective.epochs; epoch++) {
    for (const [i, { from, to }] of batch.steps.entries()) {
      const rows = batch.rows.slice(from, to);
      const name = `${id}-${epoch}-${i}`;
      const of = objective.adapter === undefined ? {} : { adapter: objective.adapter };
      if (objective.critic !== null && rows.length > 0) {
        criticSteps.push(await engine.updateCritic({ id: `${name}-critic`, rows, ...objective.critic, ...of }));
      }
      if (!objective.trainsPolicy) continue;
      const { loss, optimizer, value } = objective;
      const valued = value === null ? {} : { value };
      steps.push(await engine.update({ id: name, rows, loss, optimizer, ...valued, ...of }));
    }
  }
  const whole = { rows: [...prepared.rows], origins: batch.origins };
  const times = updateTimes(adv, scores.ms, steps, criticSteps);
  const taken = { batch, steps, criticSteps, times, tokens: sequenceTokens(batch.metrics) };
  if (scores.logprobs !== null) return { ...taken, recorded: whole, logprobs: scores.logprobs };
  // Later steps were computed by weights that the first had changed.
  const [first] = steps;
  const to = first === undefined ? 0 : (batch.steps[0]?.to ?? 0);
  const recorded = { rows: whole.rows.slice(0, to), origins: whole.origins.slice(0, to) };
  return { ...taken, recorded, logprobs: first?.logprobs ?? new Float32Array(0) };
}

/** The milliseconds since it was made. */
function stopwatch(clock: Clock): () => number {
  const start = clock.monotonic();
  return () => clock.monotonic() - start;
}

/** Mean of a step's number over an update's steps; 0 without any. */
function meanOf<Step>(steps: readonly Step[], value: (step: Step) => number): number {
  return steps.length === 0 ? 0 : steps.reduce((sum, step) => sum + value(step), 0) / steps.length;
}

/** Mean over the steps that had a token of a number that is itself a mean over tokens; null where none had. */
function tokenMeanOf<Step extends { skipped: SkipReason | null }>(
  steps: readonly Step[],
  value: (step: Step) => number,
): number | null {
  const measured = steps.filter((step) => step.skipped !== "empty_batch");
  return measured.length === 0 ? null : meanOf(measured, value);
}

/**
 * Numbers of the policy's steps and of the critic's under the names of metrics.jsonl. What is a mean over tokens is null
 * where no token was trained: nothing was measured then.
 */
export function stepMetrics({
  steps,
  criticSteps,
}: Pick<TakenUpdate, "steps" | "criticSteps">): Record<string, number | string | null> {
  const entropy = tokenMeanOf(steps, (s) => s.entropy);
  const skipped = steps.find((step) => step.skipped !== null)?.skipped ?? null;
  const policy = {
    "training/n_optimizer_steps": steps.filter((step) => step.skipped === null).length,
    "training/skipped": skipped,
    "actor/loss": meanOf(steps, (s) => s.loss),
    "actor/pg_loss": meanOf(steps, (s) => s.pgLoss),
    "actor/entropy": entropy,
    // verl's name for the same mean.
    "actor/entropy_loss": entropy,
    "actor/grad_norm": meanOf(steps, (s) => s.gradNorm),
    "actor/pg_clipfrac": tokenMeanOf(steps, (s) => s.clipFrac),
    "actor/pg_clipfrac_lower": tokenMeanOf(steps, (s) => s.dualClipFrac),
    "actor/ppo_kl": tokenMeanOf(steps, (s) => s.approxKl),
    ...(steps.some((s) => s.kl !== undefined) ? { "actor/kl_loss": tokenMeanOf(steps, (s) => s.kl ?? 0) } : {}),
  };
  return { ...policy, ...criticMetrics(criticSteps), ...valueMetrics(steps) };
}

function criticMetrics(steps: readonly CriticResult[]): Record<string, number | null> {
  if (steps.length === 0) return {};
  return {
    "critic/vf_loss": meanOf(steps, (s) => s.loss),
    "critic/vf_clipfrac": tokenMeanOf(steps, (s) => s.clipFrac),
    "critic/grad_norm": meanOf(steps, (s) => s.gradNorm),
  };
}

/** A value head's numbers in the policy's steps, whose gradient norm is its own too. */
function valueMetrics(steps: readonly UpdateResult[]): Record<string, number | null> {
  const values = steps.flatMap(({ value, skipped }) => (value === undefined ? [] : [{ ...value, skipped }]));
  if (values.length === 0) return {};
  return {
    "critic/vf_loss": meanOf(values, (v) => v.loss),
    "critic/vf_clipfrac": tokenMeanOf(values, (v) => v.clipFrac),
  };
}
