import { PlanBuilder } from "../gpu/plan_builder.ts";
import type { DecoderGradients } from "../model/decoder_weights.ts";
import { backwardDecoder, recordDecoder, recordPackedInputs } from "../model/forward.ts";
import type { Decoder } from "../model/policy.ts";
import { type PlanSizes, SizedPlan } from "../model/sized_plan.ts";
import { attentionBlocks } from "../ops/attention/blocks.ts";
import { embeddingIndexInputs } from "../ops/embedding_index.ts";
import { recordIndexInputs } from "../ops/record_index.ts";
import { accumulateValueHead, backwardValueHead, type ValueHeadTensors, valueHead } from "../ops/value_head.ts";
import type { MicroBatch } from "./micro_batches.ts";
import type { ValueTargets } from "./value_targets.ts";

/** A decoder with a value head on its hidden states, and where the gradients of the value loss go. */
export interface ValueModel {
  readonly decoder: Decoder;
  readonly head: ValueHeadTensors;
  /** Null computes values alone. */
  readonly gradients: {
    readonly head: ValueHeadTensors;
    /** Null leaves the decoder as it is. */
    readonly decoder: DecoderGradients | null;
  } | null;
}

/** Values of one micro-batch's states: alone, or also the value loss with its gradients. */
export class ValuePlan {
  private readonly model: ValueModel;
  private readonly plan: SizedPlan;

  constructor(model: ValueModel, microBatchTokens: number) {
    this.model = model;
    this.plan = new SizedPlan((sizes) => this.record(sizes).build(), microBatchTokens);
  }

  /** Statistics (R,4) of the records; with gradients, these are added to the accumulated ones. */
  async run(batch: MicroBatch, targets: ValueTargets, clipRange: number): Promise<Float32Array> {
    const { ids, pos, end, src, weight } = batch;
    const [T, R] = [ids.length, src.length];
    const plan = await this.plan.of({ tokens: T, records: R });
    const backward = this.backwardInputs(batch);
    const { stats } = await plan.run(
      { T, R, "value.clip_range": clipRange, ...backward.values },
      { ids, pos, end, blockEnd: attentionBlocks(end), src, weight, ...targets, ...backward.inputs },
    );
    return stats as Float32Array;
  }

  /** Bytes of the plan for a micro-batch, on a counting device. */
  measure(sizes: PlanSizes): number {
    return this.record(sizes).measure();
  }

  dispose(): void {
    this.plan.dispose();
  }

  /** What the decoder's backward pass takes beside the batch. */
  private backwardInputs({ ids, pos, src }: MicroBatch): ReturnType<typeof embeddingIndexInputs> {
    const decoder = this.model.gradients?.decoder ?? null;
    if (decoder === null) return { inputs: {}, values: {} };
    const records = recordIndexInputs(src, ids.length);
    if (decoder.embed === undefined) return { inputs: records, values: {} };
    const index = embeddingIndexInputs(ids, decoder.positions === undefined ? undefined : pos);
    return { inputs: { ...index.inputs, ...records }, values: index.values };
  }

  private record({ tokens, records }: PlanSizes): PlanBuilder {
    const { decoder, head, gradients } = this.model;
    const plan = new PlanBuilder(decoder.device, "values");
    const packed = recordPackedInputs(plan, plan.dim("T", tokens));
    const R = plan.dim("R", records);
    const { hidden, saved } = recordDecoder(plan, decoder, packed);
    const inputs = {
      ...{ h: hidden, ...head, src: plan.input("src", [R], "u32") },
      weight: plan.input("weight", [R]),
      oldValue: plan.input("oldValue", [R]),
      returns: plan.input("returns", [R]),
    };
    const stats = valueHead(plan, inputs);
    plan.output("stats", stats);
    if (gradients?.decoder) {
      backwardDecoder(plan, saved, backwardValueHead(plan, inputs, stats, gradients.head), gradients.decoder);
    } else if (gradients !== null) {
      accumulateValueHead(plan, inputs, stats, gradients.head);
    }
    return plan;
  }
}
