import type { Clock } from "../core/clock.ts";
import type { Plan } from "../gpu/plan.ts";
import { PlanBuilder } from "../gpu/plan_builder.ts";
import type { Dim } from "../gpu/tensor.ts";
import type { DecoderGradients } from "../model/decoder_weights.ts";
import { backwardDecoder, type PackedInputs, recordDecoder, recordPackedInputs } from "../model/forward.ts";
import { lossHeadChunkBytes } from "../model/memory_budget.ts";
import type { Decoder } from "../model/policy.ts";
import { type PlanSizes, SizedPlan } from "../model/sized_plan.ts";
import { attentionBlocks } from "../ops/attention/blocks.ts";
import { embeddingIndexInputs } from "../ops/embedding_index.ts";
import { type LossUnits, lossHead } from "../ops/loss_head.ts";
import { isCoupled, type LossKind, lossValues } from "../ops/loss_settings.ts";
import { recordIndexInputs } from "../ops/record_index.ts";
import type { LossConfig } from "../schema/loss.ts";
import { type BatchUnits, unitInputs } from "./batch_units.ts";
import type { MicroBatch } from "./micro_batches.ts";
import { QuantumMeter } from "./quantum_meter.ts";

/** Longest submit, in milliseconds: a device cannot be interrupted inside one, and drivers end those that take long. */
const quantumMs = { software: 1000, gpu: 50 } as const;

/** How gradients are computed. */
export interface GradientPlanOptions {
  /** Most tokens computed at once. */
  readonly microBatchTokens: number;
  /** Lowest blocks that backward computes again instead of keeping their inner tensors; default none. */
  readonly recomputedLayers?: number;
  readonly clock: Clock;
}

/** Forward, loss and backward of one micro-batch. */
export class GradientPlan {
  private readonly model: Decoder;
  private readonly gradients: DecoderGradients;
  private readonly clock: Clock;
  private readonly recomputedLayers: number;
  private readonly plan: SizedPlan;
  /** The loss that the present plan computes. */
  private kind: LossKind = "cross_entropy";
  /** Of the last run that nothing interrupted; unknown at first. */
  private msPerToken = Number.POSITIVE_INFINITY;
  private readonly meter: QuantumMeter;
  /** The plan whose first run, which compiles, is over. */
  private warm: Plan | null = null;

  constructor(model: Decoder, gradients: DecoderGradients, options: GradientPlanOptions) {
    this.model = model;
    this.gradients = gradients;
    this.clock = options.clock;
    this.recomputedLayers = options.recomputedLayers ?? 0;
    this.plan = new SizedPlan((sizes) => this.build(sizes), options.microBatchTokens);
    this.meter = new QuantumMeter(options.clock, quantumMs[model.device.caps.deviceClass]);
  }

  /** Most tokens of a pass that others interrupt, as measured: no submit of it should take longer than the device's quantum. */
  get mostTokensBetween(): number {
    return this.meter.mostTokens;
  }

  /** Adds the batch's gradients to the accumulated ones; returns the records' statistics (R,8). */
  async run(
    batch: MicroBatch,
    loss: LossConfig,
    { between, units }: { readonly between?: () => Promise<void>; readonly units?: BatchUnits },
  ): Promise<Float32Array> {
    if (loss.kind !== this.kind) this.plan.dispose();
    this.kind = loss.kind;
    const { ids, pos, end, src, target, weight, advantage, oldLogprob, refLogprob } = batch;
    const [T, R] = [ids.length, src.length];
    const plan = await this.plan.of({ tokens: T, records: R });
    const { embed, positions } = this.gradients;
    const index =
      embed === undefined
        ? { inputs: {}, values: {} }
        : embeddingIndexInputs(ids, positions === undefined ? undefined : pos);
    const inputs = {
      ...{ ids, pos, end, blockEnd: attentionBlocks(end) },
      ...{ src, target, weight, advantage, oldLogprob, refLogprob },
      ...index.inputs,
      ...recordIndexInputs(src, T),
      ...(units === undefined ? {} : unitInputs(units)),
    };
    const split = between !== undefined || this.msPerToken * T > quantumMs[this.model.device.caps.deviceClass];
    const values = { T, R, U: units?.count ?? 0, ...lossValues(loss), ...index.values };
    const pass = (pause?: () => Promise<void>) => plan.run(values, inputs, { split, between: pause });
    const started = this.clock.monotonic();
    const isWarm = plan === this.warm;
    this.warm = plan;
    const { stats } = between && isWarm ? await this.meter.watch(T, between, pass) : await pass(between);
    if (between === undefined) this.msPerToken = (this.clock.monotonic() - started) / T;
    return stats as Float32Array;
  }

  /** Bytes of temporaries of the plan that exists now. */
  get arenaBytes(): number {
    return this.plan.arenaBytes;
  }

  dispose(): void {
    this.plan.dispose();
  }

  private recordUnits(plan: PlanBuilder, R: Dim, records: number): LossUnits {
    const U = plan.dim("U", records);
    return {
      unit: plan.input("unit", [R], "u32"),
      off: plan.input("units.off", [records + 1], "u32"),
      order: plan.input("units.order", [R], "u32"),
      outside: plan.input("units.outside", [U, 4]),
    };
  }

  /** Bytes of the plan for a micro-batch, on a counting device. */
  measure(sizes: PlanSizes): number {
    return this.record(sizes).measure();
  }

  private build(sizes: PlanSizes): Promise<Plan> {
    return this.record(sizes).build();
  }

  private record({ tokens, records }: PlanSizes): PlanBuilder {
    const { model, recomputedLayers } = this;
    const plan = new PlanBuilder(model.device, "gradients");
    const packed: PackedInputs = recordPackedInputs(plan, plan.dim("T", tokens));
    const R = plan.dim("R", records);
    const { hidden, saved } = recordDecoder(plan, model, packed, { recomputedLayers });
    const { stats, dh } = lossHead(
      plan,
      {
        h: hidden,
        w: model.weights.head,
        src: plan.input("src", [R], "u32"),
        target: plan.input("target", [R], "u32"),
        weight: plan.input("weight", [R]),
        advantage: plan.input("advantage", [R]),
        oldLogprob: plan.input("oldLogprob", [R]),
        refLogprob: plan.input("refLogprob", [R]),
        ...(isCoupled(this.kind) ? { units: this.recordUnits(plan, R, records) } : {}),
      },
      { w: this.gradients.head },
      { kind: this.kind, chunkBytes: lossHeadChunkBytes },
    );
    plan.output("stats", stats);
    backwardDecoder(plan, saved, dh, this.gradients);
    return plan;
  }
}
