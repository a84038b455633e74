import type { Plan } from "../gpu/plan.ts";
import { PlanBuilder } from "../gpu/plan_builder.ts";
import { recordDecoder, recordPackedInputs } from "../model/forward.ts";
import { lossHeadChunkBytes } from "../model/memory_plan.ts";
import type { Model } from "../model/model.ts";
import { type PlanSizes, SizedPlan } from "../model/sized_plan.ts";
import { attentionBlocks } from "../ops/attention/blocks.ts";
import { scoreHead } from "../ops/loss_head.ts";
import { lossValues } from "../ops/loss_settings.ts";
import type { LossConfig, TrainRow } from "../schema/engine.ts";
import { type MicroBatch, packRows } from "./micro_batches.ts";
import { statColumns } from "./step_statistics.ts";

/** The frozen policy that a KL term is measured against. */
export class ReferencePolicy {
  private readonly model: Model;
  private readonly microBatchTokens: number;
  private readonly plan: SizedPlan;

  /** `model` is never changed; `microBatchTokens`: most tokens computed at once. */
  constructor(model: Model, microBatchTokens: number) {
    this.model = model;
    this.microBatchTokens = microBatchTokens;
    this.plan = new SizedPlan((sizes) => this.build(sizes), microBatchTokens);
  }

  /**
   * The rows with refLogprob of every record, log pi_ref of its target at the loss's temperature; rows that have it
   * stay as they are. @throws LeydenError as packRows
   */
  async fill(rows: readonly TrainRow[], loss: LossConfig): Promise<TrainRow[]> {
    const { vocabSize, contextLength } = this.model.description;
    const out = [...rows];
    const open = rows.flatMap((row, i) => (row.refLogprob === undefined ? [i] : []));
    const asked = open.map((i) => rows[i] as TrainRow);
    for (const batch of packRows(asked, { vocabSize, contextLength, microBatchTokens: this.microBatchTokens })) {
      const stats = await this.run(batch, loss);
      for (const { row, firstRecord } of batch.rows) {
        const source = asked[row] as TrainRow;
        const at = (r: number): number => stats[statColumns.width * (firstRecord + r)] as number;
        out[open[row] as number] = { ...source, refLogprob: Float32Array.from(source.src, (_, r) => at(r)) };
      }
    }
    return out;
  }

  dispose(): void {
    this.plan.dispose();
  }

  private async run({ ids, pos, end, src, target }: MicroBatch, loss: LossConfig): Promise<Float32Array> {
    const plan = await this.plan.of({ tokens: ids.length, records: src.length });
    const values = { T: ids.length, R: src.length, ...lossValues({ ...loss, klCoef: 0 }) };
    const { stats } = await plan.run(values, { ids, pos, end, blockEnd: attentionBlocks(end), src, target });
    return stats as Float32Array;
  }

  private build({ tokens, records }: PlanSizes): Promise<Plan> {
    const plan = new PlanBuilder(this.model.device, "reference");
    const R = plan.dim("R", records);
    const { hidden } = recordDecoder(plan, this.model, recordPackedInputs(plan, plan.dim("T", tokens)));
    const zeros = plan.input("zeros", [R]);
    const inputs = {
      ...{ h: hidden, w: this.model.weights.head },
      ...{ src: plan.input("src", [R], "u32"), target: plan.input("target", [R], "u32") },
      ...{ weight: zeros, advantage: zeros, oldLogprob: zeros, refLogprob: zeros },
    };
    plan.output("stats", scoreHead(plan, inputs, { chunkBytes: lossHeadChunkBytes }));
    return plan.build();
  }
}
