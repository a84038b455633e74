import type { Plan } from "../gpu/plan.ts";
import { PlanBuilder } from "../gpu/plan_builder.ts";
import type { Tensor } from "../gpu/tensor.ts";
import type { DecoderGradients } from "../model/decoder_weights.ts";
import { backwardDecoder, recordDecoder, recordPackedInputs } from "../model/forward.ts";
import type { Decoder } from "../model/policy.ts";
import { type PlanSizes, SizedPlan } from "../model/sized_plan.ts";
import { attentionBlocks } from "../ops/attention/blocks.ts";
import { embeddingIndexInputs } from "../ops/embedding_index.ts";
import { recordIndexInputs } from "../ops/record_index.ts";
import { backwardValueHead, valueHead } from "../ops/value_head.ts";
import type { MicroBatch } from "./micro_batches.ts";

/** What the value loss takes of each record of a micro-batch, (R) each. */
export interface ValueTargets {
  readonly oldValue: Float32Array;
  readonly returns: Float32Array;
}

/** A critic over one micro-batch: values alone, or also the value loss with its gradients. */
export class ValuePlan {
  private readonly model: Decoder;
  private readonly gradients: DecoderGradients | null;
  private readonly plan: SizedPlan;

  /** Without `gradients` the plan computes values alone. */
  constructor(model: Decoder, gradients: DecoderGradients | null, microBatchTokens: number) {
    this.model = model;
    this.gradients = gradients;
    this.plan = new SizedPlan((sizes) => this.build(sizes), microBatchTokens);
  }

  /** Statistics (R,4) of the records; with gradients, these are added to the accumulated ones. */
  async run(batch: MicroBatch, targets: ValueTargets, clipRange: number): Promise<Float32Array> {
    const { ids, pos, end, src, weight } = batch;
    const [T, R] = [ids.length, src.length];
    const plan = await this.plan.of({ tokens: T, records: R });
    const isLearned = this.model.description.positions.kind === "learned";
    const index = this.gradients && embeddingIndexInputs(ids, isLearned ? pos : undefined);
    const backward = index === null ? {} : { ...index.inputs, ...recordIndexInputs(src, T) };
    const { stats } = await plan.run(
      { T, R, "value.clip_range": clipRange, ...index?.values },
      { ids, pos, end, blockEnd: attentionBlocks(end), src, weight, ...targets, ...backward },
    );
    return stats as Float32Array;
  }

  dispose(): void {
    this.plan.dispose();
  }

  private build({ tokens, records }: PlanSizes): Promise<Plan> {
    const { model, gradients } = this;
    const plan = new PlanBuilder(model.device, "values");
    const packed = recordPackedInputs(plan, plan.dim("T", tokens));
    const R = plan.dim("R", records);
    const { hidden, saved } = recordDecoder(plan, model, packed);
    const inputs = {
      ...{ h: hidden, w: model.weights.head, bias: model.weights.headBias as Tensor },
      src: plan.input("src", [R], "u32"),
      weight: plan.input("weight", [R]),
      oldValue: plan.input("oldValue", [R]),
      returns: plan.input("returns", [R]),
    };
    const stats = valueHead(plan, inputs);
    plan.output("stats", stats);
    if (gradients !== null) {
      const into = { w: gradients.head as Tensor, bias: gradients.headBias as Tensor };
      backwardDecoder(plan, saved, backwardValueHead(plan, inputs, stats, into), gradients);
    }
    return plan.build();
  }
}
