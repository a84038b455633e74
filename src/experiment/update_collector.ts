import { type AdvantageConfig, isGroupLocal } from "../rl/advantages/registry.ts";
import { type Batch, batchDefaults, type GroupRecord } from "../rl/batch/batch_input.ts";
import { scoresNeeded } from "../rl/batch/prepare_batch.ts";
import { type Normalisation, normalisationDivisor } from "../rl/normalisation.ts";
import type { AccumulateResult, Engine, TrainRow } from "../schema/engine.ts";
import type { ExperimentConfig } from "../schema/experiment.ts";
import { objectiveOf } from "./objective.ts";
import type { TakenUpdate } from "./take_update.ts";
import { batchFor, type UpdateTerms } from "./update_step.ts";

/** One group's share of an update. */
interface Part {
  readonly batch: Batch;
  /** What it adds to the divisor of all weights; null where they have none. */
  readonly divisor: number | null;
  readonly gradients: Promise<AccumulateResult>;
}

/**
 * True when a group's gradients can be computed before the other groups of its update are known: its advantages depend
 * on nothing outside the group, the update is one optimizer step, and its rows need no other model's opinion. What all
 * weights have in common is then one factor, which the step applies.
 */
export function collectsEarly({ schedule, train }: ExperimentConfig): boolean {
  if (schedule.mode !== "interleaved" || schedule.maxAge === 0) return false;
  const { batch, loss } = objectiveOf(train, { seed: 0, update: 1, klCoef: train.klCoef });
  const { policy, reference, values } = scoresNeeded({ ...batchDefaults, ...batch });
  const oneStep = train.miniBatches === 1 && train.epochs === 1 && train.critic === "none";
  if (train.policies.length > 1) return false;
  const local = isGroupLocal(batch.advantage as AdvantageConfig);
  return local && oneStep && !policy && !reference && !values && loss.klCoef === 0;
}

/** Computes an update's gradients group by group, as groups finish, and takes its step when all are there. */
export class UpdateCollector {
  private readonly engine: Engine;
  private readonly parts = new Map<string, Promise<Part>>();
  /** The last group's gradients have been asked for, or never will be. */
  private asked: Promise<unknown> = Promise.resolve();

  constructor(engine: Engine) {
    this.engine = engine;
  }

  /**
   * Begins with the gradients of a finished group, behind those of the groups before it, however long `read` takes to get
   * what happened in it.
   */
  collect(group: string, read: () => Promise<GroupRecord>, terms: UpdateTerms): void {
    const { asked } = this;
    const record = read();
    const part = Promise.allSettled([record, asked]).then(async () => this.begin(await record, terms));
    // Its failure comes to light when the step is taken.
    this.asked = part.catch(() => undefined);
    this.parts.set(group, part);
  }

  /**
   * Takes the step on groups that were all collected since the last one. The batch it returns is that of all groups,
   * with the rows that were trained. @throws what computing the gradients threw
   */
  async take(id: string, groups: readonly GroupRecord[], terms: UpdateTerms): Promise<TakenUpdate> {
    const parts = await Promise.all(groups.map((group) => this.parts.get(group.id) as Promise<Part>));
    this.parts.clear();
    const divisors = parts.map((part) => part.divisor);
    const total = divisors.reduce<number>((sum, divisor) => sum + (divisor ?? 0), 0);
    const info = await this.engine.info();
    const gradientScale = divisors.includes(null) || total === 0 ? 1 : 1 / total;
    const { loss, optimizer } = terms;
    const stepped = this.engine.update({ id, rows: [], loss, optimizer, accumulated: true, gradientScale });
    stepped.catch(() => undefined);
    // While the device takes the step.
    const whole = this.whole(batchFor(info, groups, terms), parts);
    const results = await Promise.all(parts.map((part) => part.gradients));
    const result = await stepped;
    const logprobs = concatenated(results.map((r) => r.logprobs));
    const trainMs = results.reduce((ms, r) => ms + r.trainMs, result.trainMs);
    return { batch: whole, steps: [{ ...result, logprobs, trainMs }], criticSteps: [], recorded: whole, logprobs };
  }

  private async begin(group: GroupRecord, terms: UpdateTerms): Promise<Part> {
    const batch = batchFor(await this.engine.info(), [group], terms);
    const { loss, batch: options } = terms;
    const divisor = normalisationDivisor(batch.units, options.normalisation as Normalisation);
    const rows = divisor === null ? batch.rows : batch.rows.map((row) => scaled(row, divisor));
    const gradients = this.engine.accumulate({ id: `accumulate-${group.id}`, rows, loss });
    gradients.catch(() => undefined);
    return { batch, divisor, gradients };
  }

  /** The numbers of all groups together, over the rows of the parts. */
  private whole(batch: Batch, parts: readonly Part[]): Batch {
    const rows = parts.flatMap((part) => part.batch.rows);
    return {
      ...batch,
      rows,
      origins: parts.flatMap((part) => part.batch.origins),
      steps: [{ from: 0, to: rows.length }],
    };
  }
}

function scaled(row: TrainRow, factor: number): TrainRow {
  return { ...row, weight: row.weight.map((weight) => weight * factor) };
}

function concatenated(parts: readonly Float32Array[]): Float32Array {
  const out = new Float32Array(parts.reduce((n, part) => n + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}
