import { LeydenError } from "../core/errors.ts";
import type { Model } from "../model/model.ts";
import { PackedTensors } from "../model/packed_tensors.ts";
import { valueColumns } from "../ops/value_head.ts";
import type { TrainRow } from "../schema/engine.ts";
import type { CriticResult, CriticUpdateRequest } from "../schema/row_scores.ts";
import { type MicroBatch, packRows } from "./micro_batches.ts";
import { Optimizer } from "./optimizer.ts";
import { recordOffsets } from "./score_rows.ts";
import { ValuePlan, type ValueTargets } from "./value_plan.ts";

/** A critic on the device: a decoder with a value head, its optimizer, and the values it gives states. */
export class Critic {
  readonly model: Model;
  private readonly microBatchTokens: number;
  private readonly gradients: PackedTensors;
  private readonly optimizer: Optimizer;
  private readonly gradientPlan: ValuePlan;
  private readonly valuePlan: ValuePlan;

  /** `model` is one that `loadCritic` made. @throws DeviceError "device_memory" */
  constructor(model: Model, microBatchTokens: number) {
    this.model = model;
    this.microBatchTokens = microBatchTokens;
    this.gradients = new PackedTensors(model.device, model.trained.layout, "critic_gradients");
    this.optimizer = new Optimizer(model.device, model.trained, this.gradients);
    this.gradientPlan = new ValuePlan(model, model.gradients(this.gradients), microBatchTokens);
    this.valuePlan = new ValuePlan(model, null, microBatchTokens);
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
  ): Promise<CriticResult> {
    rows.forEach(requireTargets);
    this.gradients.clear();
    const sums = { loss: 0, clipped: 0, active: 0 };
    for (const batch of this.pack(rows)) {
      const stats = await this.gradientPlan.run(batch, targetsOf(rows, batch), clipRange);
      batch.weight.forEach((weight, r) => {
        if (weight === 0) return;
        sums.active++;
        sums.loss += stats[valueColumns.width * r + valueColumns.loss] as number;
        sums.clipped += stats[valueColumns.width * r + valueColumns.clipped] as number;
      });
    }
    const clipFrac = sums.active === 0 ? 0 : sums.clipped / sums.active;
    if (sums.active === 0) return { skipped: "empty_batch", loss: 0, gradNorm: 0, clipFrac };
    const { gradNorm, finite } = await this.optimizer.step(optimizer);
    return { skipped: finite ? null : "nan_gradient", loss: sums.loss, gradNorm, clipFrac };
  }

  /** The optimizer's moments as the bytes of a safetensors file. */
  optimizerFile(): Promise<Uint8Array> {
    return this.optimizer.encode(this.model.savedForm);
  }

  /** Continues from what `optimizerFile` returned. @throws FormatError when it is another model's or damaged */
  async restoreOptimizer(bytes: Uint8Array): Promise<void> {
    await this.optimizer.restore(this.model.savedForm, "critic/optimizer.safetensors", bytes);
  }

  /** Releases everything but the model. */
  dispose(): void {
    this.gradientPlan.dispose();
    this.valuePlan.dispose();
    this.optimizer.dispose();
    this.gradients.dispose();
  }

  private pack(rows: readonly TrainRow[]): MicroBatch[] {
    const { vocabSize, contextLength } = this.model.description;
    return packRows(rows, { vocabSize, contextLength, microBatchTokens: this.microBatchTokens });
  }
}

function requireTargets({ src, oldValue, returns }: TrainRow, index: number): void {
  if (oldValue?.length === src.length && returns?.length === src.length) return;
  throw new LeydenError("train_row", `Training row ${index} lacks a value or a return for some of its records.`, {
    do: "Give oldValue and returns one number per record, or train without a critic.",
    data: { row: index },
  });
}

/** Values and returns of a micro-batch's records. */
function targetsOf(rows: readonly TrainRow[], batch: MicroBatch): ValueTargets {
  const out = { oldValue: new Float32Array(batch.src.length), returns: new Float32Array(batch.src.length) };
  for (const { row, firstRecord } of batch.rows) {
    out.oldValue.set(rows[row]?.oldValue ?? [], firstRecord);
    out.returns.set(rows[row]?.returns ?? [], firstRecord);
  }
  return out;
}
