import type { PlanSizes } from "../model/sized_plan.ts";
import { valueColumns } from "../ops/value_head.ts";
import type { TrainRow } from "../schema/engine.ts";
import type { CriticResult, CriticUpdateRequest } from "../schema/row_scores.ts";
import { type MicroBatch, packRows } from "./micro_batches.ts";
import type { Optimizer } from "./optimizer.ts";
import { recordOffsets } from "./score_rows.ts";
import { type ValueModel, ValuePlan } from "./value_plan.ts";
import { ValueSums } from "./value_statistics.ts";
import { requireValueTargets, valueTargetsOf } from "./value_targets.ts";

/** What a value function learns with. */
export interface ValueLearning {
  readonly gradients: NonNullable<ValueModel["gradients"]>;
  /** Sets `gradients` to 0. */
  clear(): void;
  /** One step on `gradients`. */
  step: Optimizer["step"];
}

/** Numbers of one step; who asked for it knows how long it took. */
export type ValueStep = Omit<CriticResult, "trainMs">;

/** What states are worth, by a value head on a decoder, and its own steps on the value loss. */
export class ValueFunction {
  private readonly model: Omit<ValueModel, "gradients">;
  private readonly learning: ValueLearning;
  private readonly microBatchTokens: number;
  private readonly gradientPlan: ValuePlan;
  private readonly valuePlan: ValuePlan;

  /** `microBatchTokens`: most tokens computed at once, and so the longest row. */
  constructor(model: Omit<ValueModel, "gradients">, learning: ValueLearning, microBatchTokens: number) {
    this.model = model;
    this.learning = learning;
    this.microBatchTokens = microBatchTokens;
    this.gradientPlan = new ValuePlan({ ...model, gradients: learning.gradients }, microBatchTokens);
    this.valuePlan = new ValuePlan({ ...model, gradients: null }, microBatchTokens);
  }

  /** The value of the state before every record's token, row by row. @throws LeydenError as packRows */
  async values(rows: readonly TrainRow[]): Promise<Float32Array> {
    const offsets = recordOffsets(rows);
    const out = new Float32Array(offsets.at(-1) as number);
    for (const batch of this.pack(rows)) {
      const zeros = new Float32Array(batch.src.length);
      const stats = await this.valuePlan.run(batch, { oldValue: zeros, returns: zeros }, 0);
      for (const { row, firstRecord } of batch.rows) {
        const to = offsets[row] as number;
        const count = (rows[row] as TrainRow).src.length;
        for (let r = 0; r < count; r++) out[to + r] = stats[valueColumns.width * (firstRecord + r)] as number;
      }
    }
    return out;
  }

  /**
   * One optimizer step on the rows' value loss; a gradient that is not finite changes nothing.
   * @throws LeydenError "train_row" for rows without values or returns, and as packRows
   */
  async step(
    rows: readonly TrainRow[],
    { optimizer, clipRange }: Pick<CriticUpdateRequest, "optimizer" | "clipRange">,
  ): Promise<ValueStep> {
    requireValueTargets(rows);
    const { learning } = this;
    learning.clear();
    const sums = new ValueSums();
    for (const batch of this.pack(rows)) {
      sums.add(batch.weight, await this.gradientPlan.run(batch, valueTargetsOf(rows, batch), clipRange));
    }
    const { loss, clipFrac, active } = sums.result();
    if (active === 0) return { skipped: "empty_batch", loss: 0, gradNorm: 0, clipFrac };
    const { gradNorm, finite } = await learning.step(optimizer);
    learning.clear();
    return { skipped: finite ? null : "nan_gradient", loss, gradNorm, clipFrac };
  }

  /** Bytes of its plans for micro-batches of these sizes, on a counting device. */
  measure(sizes: PlanSizes): number {
    return this.gradientPlan.measure(sizes) + this.valuePlan.measure(sizes);
  }

  dispose(): void {
    this.gradientPlan.dispose();
    this.valuePlan.dispose();
  }

  private pack(rows: readonly TrainRow[]): MicroBatch[] {
    const { vocabSize, contextLength } = this.model.decoder.description;
    return packRows(rows, { vocabSize, contextLength, microBatchTokens: this.microBatchTokens });
  }
}
