import type { Clock } from "../core/clock.ts";
import type { Batch, GroupRecord } from "../rl/batch/batch_input.ts";
import type { PreparedBatch } from "../rl/batch/prepare_batch.ts";
import { type Normalisation, normalisationDivisor } from "../rl/normalisation.ts";
import type { AccumulateResult, Engine, TrainRow } from "../schema/engine.ts";
import type { TakenUpdate, UpdateHost } from "./take_update.ts";
import { concatenated, scoresOf, scoresTogether, type TimedScores } from "./update_scores.ts";
import { preparedFor, type UpdateTerms } from "./update_step.ts";
import { sequenceTokens, updateTimes } from "./update_times.ts";

/** One group's share of an update. */
interface Part {
  readonly group: string;
  readonly prepared: PreparedBatch;
  readonly scores: TimedScores;
  readonly batch: Batch;
  /** What it adds to the divisor of all weights; null where they have none. */
  readonly divisor: number | null;
  readonly gradients: Promise<AccumulateResult>;
}

/** Computes an update's gradients group by group, as groups finish, and takes its step when all are there. */
export class UpdateCollector {
  private readonly engine: Engine;
  private readonly clock: Clock;
  /** Milliseconds spent on batches since the last update. */
  private batchMs = 0;
  private readonly parts = new Map<string, Promise<Part>>();
  /** The last group's gradients have been asked for, or never will be. */
  private asked: Promise<unknown> = Promise.resolve();

  constructor({ engine, clock }: UpdateHost) {
    this.engine = engine;
    this.clock = clock;
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
    const prepared = this.timed(() => preparedFor(info, groups, terms));
    const scores = scoresTogether(prepared, parts);
    const whole = this.timed(() => ofParts(prepared.finish(scores), parts));
    const results = await Promise.all(parts.map((part) => part.gradients));
    const result = await stepped;
    const logprobs = concatenated(results.map((r) => r.logprobs));
    const trainMs = results.reduce((ms, r) => ms + r.trainMs, result.trainMs);
    const asked = [...results, result].flatMap(({ referenceMs }) => referenceMs ?? []);
    const ofReference = asked.length === 0 ? {} : { referenceMs: asked.reduce((a, b) => a + b) };
    const steps = [{ ...result, logprobs, trainMs, ...ofReference }];
    const times = updateTimes(this.batchMs, scores.ms, steps, []);
    this.batchMs = 0;
    const recorded = { rows: parts.flatMap((part) => part.prepared.rows), origins: whole.origins };
    const taken = { batch: whole, steps, criticSteps: [], recorded, logprobs };
    return { ...taken, times, tokens: sequenceTokens(whole.metrics) };
  }

  /** Work on batches, its time noted. */
  private timed<Result>(work: () => Result): Result {
    const start = this.clock.monotonic();
    const result = work();
    this.batchMs += this.clock.monotonic() - start;
    return result;
  }

  private async begin(group: GroupRecord, terms: UpdateTerms): Promise<Part> {
    const info = await this.engine.info();
    const prepared = this.timed(() => preparedFor(info, [group], terms));
    const scores = await scoresOf(this.engine, `collect-${group.id}`, prepared, terms);
    const batch = this.timed(() => prepared.finish(scores));
    const { loss, batch: options } = terms;
    const divisor = normalisationDivisor(batch.units, options.normalisation as Normalisation);
    const rows = divisor === null ? batch.rows : batch.rows.map((row) => scaled(row, divisor));
    const gradients = this.engine.accumulate({ id: `accumulate-${group.id}`, rows, loss });
    gradients.catch(() => undefined);
    return { group: group.id, prepared, scores, batch, divisor, gradients };
  }
}

/** The numbers of all groups together, over the rows of the parts. */
function ofParts(batch: Batch, parts: readonly Part[]): Batch {
  const rows = parts.flatMap((part) => part.batch.rows);
  const origins = parts.flatMap((part) => part.batch.origins);
  return { ...batch, rows, origins, steps: [{ from: 0, to: rows.length }] };
}

function scaled(row: TrainRow, factor: number): TrainRow {
  return { ...row, weight: row.weight.map((weight) => weight * factor) };
}
