import type { PlanInputs } from "../gpu/plan.ts";
import { recordIndexInputs } from "../ops/record_index.ts";
import type { TrainRow } from "../schema/engine.ts";
import type { LossConfig } from "../schema/loss.ts";
import type { MicroBatch } from "./micro_batches.ts";

/** The sequences of one micro-batch's records, numbered from 0. */
export interface BatchUnits {
  readonly count: number;
  /** (R) */
  readonly unit: Uint32Array;
  /** (U,4): sum and number of log ratios of the unit's records in other micro-batches, its mean advantage, 0. */
  readonly outside: Float32Array;
}

/** Sequence of a record among all of the step; rows without units are sequences of their own, below 0. */
function unitOf(rows: readonly TrainRow[], row: number, record: number): number {
  return rows[row]?.unit?.[record] ?? -1 - row;
}

/** What a sequence sums over its records of non-zero weight. */
interface Sums {
  advantage: number;
  count: number;
}

/** Where the sequences of a step lie in its micro-batches, for losses that couple the tokens of one. */
export class StepUnits {
  private readonly rows: readonly TrainRow[];
  private readonly batches: readonly MicroBatch[];
  private readonly whole = new Map<number, Sums>();
  /** Sequences whose records lie in several micro-batches. */
  private readonly spread = new Set<number>();
  /** Log ratios by unit and micro-batch, of spread sequences alone. */
  private readonly parts: Map<number, { sum: number; count: number }>[];

  constructor(rows: readonly TrainRow[], batches: readonly MicroBatch[]) {
    this.rows = rows;
    this.batches = batches;
    this.parts = batches.map(() => new Map());
    const home = new Map<number, number>();
    for (const [b, batch] of batches.entries()) {
      this.eachRecord(batch, (unit, r) => {
        if ((home.get(unit) ?? b) !== b) this.spread.add(unit);
        home.set(unit, b);
        if (batch.weight[r] === 0) return;
        const sums = this.whole.get(unit) ?? { advantage: 0, count: 0 };
        sums.advantage += batch.advantage[r] as number;
        sums.count++;
        this.whole.set(unit, sums);
      });
    }
  }

  /** True when some sequence lies in several micro-batches, so that `measure` needs log-probabilities first. */
  get needsScores(): boolean {
    return this.spread.size > 0;
  }

  /** Takes the present log-probabilities of one micro-batch's records; GMPO's log ratios are clipped on one side. */
  measure(index: number, logprobs: ArrayLike<number>, { kind, clipLow, clipHigh }: LossConfig): void {
    const batch = this.batches[index] as MicroBatch;
    this.eachRecord(batch, (unit, r) => {
      if (batch.weight[r] === 0 || !this.spread.has(unit)) return;
      const d = (logprobs[r] as number) - (batch.oldLogprob[r] as number);
      const clipped = (batch.advantage[r] as number) >= 0 ? Math.min(d, clipHigh) : Math.max(d, -clipLow);
      const part = this.parts[index]?.get(unit) ?? { sum: 0, count: 0 };
      part.sum += kind === "gmpo" ? clipped : d;
      part.count++;
      this.parts[index]?.set(unit, part);
    });
  }

  /** The sequences of one micro-batch. */
  of(index: number): BatchUnits {
    const batch = this.batches[index] as MicroBatch;
    const numbers = new Map<number, number>();
    const unit = new Uint32Array(batch.src.length);
    this.eachRecord(batch, (global, r) => {
      const local = numbers.get(global) ?? numbers.size;
      numbers.set(global, local);
      unit[r] = local;
    });
    const outside = new Float32Array(4 * numbers.size);
    for (const [global, local] of numbers) {
      const sums = this.whole.get(global) ?? { advantage: 0, count: 0 };
      outside.set([...this.elsewhere(global, index), sums.count === 0 ? 0 : sums.advantage / sums.count], 4 * local);
    }
    return { count: numbers.size, unit, outside };
  }

  private elsewhere(unit: number, index: number): [sum: number, count: number] {
    let sum = 0;
    let count = 0;
    for (const [b, part] of this.parts.entries()) {
      const own = b === index ? undefined : part.get(unit);
      sum += own?.sum ?? 0;
      count += own?.count ?? 0;
    }
    return [sum, count];
  }

  private eachRecord(batch: MicroBatch, visit: (unit: number, record: number) => void): void {
    for (const { row, firstRecord } of batch.rows) {
      const count = this.rows[row]?.src.length ?? 0;
      for (let r = 0; r < count; r++) visit(unitOf(this.rows, row, r), firstRecord + r);
    }
  }
}

/** Plan inputs of a micro-batch's sequences. */
export function unitInputs({ count, unit, outside }: BatchUnits): PlanInputs {
  const index = recordIndexInputs(unit, count);
  return {
    unit,
    "units.off": index["records.off"] as Uint32Array,
    "units.order": index["records.order"] as Uint32Array,
    "units.outside": outside,
  };
}
