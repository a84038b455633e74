import type { Model } from "../model/model.ts";
import { ScorePlan, scoreColumns } from "../model/score_plan.ts";
import type { LossConfig, TrainRow } from "../schema/engine.ts";
import { packRows } from "./micro_batches.ts";

/** The frozen policy that a KL term is measured against. */
export class ReferencePolicy {
  private readonly model: Model;
  private readonly microBatchTokens: number;
  private readonly plan: ScorePlan;

  /** `model` is never changed; `microBatchTokens`: most tokens computed at once. */
  constructor(model: Model, microBatchTokens: number) {
    this.model = model;
    this.microBatchTokens = microBatchTokens;
    this.plan = new ScorePlan(model, microBatchTokens);
  }

  /**
   * The rows with refLogprob of every record, log pi_ref of its target at the loss's temperature; rows that have it
   * stay as they are. @throws LeydenError as packRows
   */
  async fill(rows: readonly TrainRow[], { temperature }: Pick<LossConfig, "temperature">): Promise<TrainRow[]> {
    const { vocabSize, contextLength } = this.model.description;
    const out = [...rows];
    const open = rows.flatMap((row, i) => (row.refLogprob === undefined ? [i] : []));
    const asked = open.map((i) => rows[i] as TrainRow);
    for (const batch of packRows(asked, { vocabSize, contextLength, microBatchTokens: this.microBatchTokens })) {
      const stats = await this.plan.run(batch, batch, temperature);
      for (const { row, firstRecord } of batch.rows) {
        const source = asked[row] as TrainRow;
        const at = (r: number): number =>
          stats[scoreColumns.width * (firstRecord + r) + scoreColumns.logprob] as number;
        out[open[row] as number] = { ...source, refLogprob: Float32Array.from(source.src, (_, r) => at(r)) };
      }
    }
    return out;
  }

  dispose(): void {
    this.plan.dispose();
  }
}
