import type { Clock } from "../core/clock.ts";
import type { Plan } from "../gpu/plan.ts";
import { PlanBuilder } from "../gpu/plan_builder.ts";
import type { Dim, Tensor } from "../gpu/tensor.ts";
import type { DecoderGradients } from "../model/decoder_weights.ts";
import { backwardDecoder, type PackedInputs, recordDecoder, recordPackedInputs } from "../model/forward.ts";
import { lossHeadChunkBytes } from "../model/memory_budget.ts";
import type { Decoder } from "../model/policy.ts";
import { type PlanSizes, SizedPlan } from "../model/sized_plan.ts";
import { attentionBlocks } from "../ops/attention/blocks.ts";
import { embeddingIndexInputs } from "../ops/embedding_index.ts";
import { type LossUnits, lossHead } from "../ops/loss_head.ts";
import { isCoupled, type LossKind, lossValues } from "../ops/loss_settings.ts";
import { type RecordIndex, recordIndex, recordIndexInputs } from "../ops/record_index.ts";
import { accumulateValueHead, backwardValueHead, type ValueHeadTensors, valueHead } from "../ops/value_head.ts";
import type { LossConfig, ValueLossConfig } from "../schema/loss.ts";
import { type BatchUnits, unitInputs } from "./batch_units.ts";
import type { MicroBatch } from "./micro_batches.ts";
import { QuantumMeter } from "./quantum_meter.ts";
import type { ValueTargets } from "./value_targets.ts";

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

/** A value head on the hidden states, and where its gradients go. */
export interface TrainedValueHead {
  readonly tensors: ValueHeadTensors;
  readonly gradientTensors: ValueHeadTensors;
}

/** What a pass over one micro-batch takes beside the batch and its loss. */
export interface PassExtras {
  readonly between?: (() => Promise<void>) | undefined;
  readonly units?: BatchUnits | undefined;
  /** The value loss of the plan's head. */
  readonly value?: { readonly config: ValueLossConfig; readonly targets: ValueTargets } | undefined;
}

/** Statistics of a micro-batch's records: (R,8) of the loss head, and (R,4) of the value head where it learns. */
export interface PassStatistics {
  readonly stats: Float32Array;
  readonly values: Float32Array | null;
}

/** Forward, loss and backward of one micro-batch. */
export class GradientPlan {
  private readonly model: Decoder;
  private readonly gradients: DecoderGradients;
  private readonly clock: Clock;
  private readonly recomputedLayers: number;
  private readonly plan: SizedPlan;
  private readonly head: TrainedValueHead | null;
  /** The loss that the present plan computes, and how far the value head's gradient goes in it. */
  private kind: LossKind = "cross_entropy";
  private value: ValueLossConfig["gradient"] | null = null;
  /** Of the last run that nothing interrupted; unknown at first. */
  private msPerToken = Number.POSITIVE_INFINITY;
  private readonly meter: QuantumMeter;
  /** The plan whose first run, which compiles, is over. */
  private warm: Plan | null = null;

  constructor(
    model: Decoder,
    gradients: DecoderGradients,
    options: GradientPlanOptions,
    head: TrainedValueHead | null = null,
  ) {
    this.model = model;
    this.gradients = gradients;
    this.head = head;
    this.clock = options.clock;
    this.recomputedLayers = options.recomputedLayers ?? 0;
    this.plan = new SizedPlan((sizes) => this.build(sizes), options.microBatchTokens);
    this.meter = new QuantumMeter(options.clock, quantumMs[model.device.caps.deviceClass]);
  }

  /** Most tokens of a pass that others interrupt, as measured: no submit of it should take longer than the device's quantum. */
  get mostTokensBetween(): number {
    return this.meter.mostTokens;
  }

  /** Adds the batch's gradients to the accumulated ones. */
  async run(batch: MicroBatch, loss: LossConfig, { between, units, value }: PassExtras): Promise<PassStatistics> {
    const gradient = value?.config.gradient ?? null;
    if (loss.kind !== this.kind || gradient !== this.value) this.plan.dispose();
    this.kind = loss.kind;
    this.value = gradient;
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
      ...(value === undefined ? {} : valueInputs(batch, value)),
    };
    const split = between !== undefined || this.msPerToken * T > quantumMs[this.model.device.caps.deviceClass];
    const clipRange = { "value.clip_range": value?.config.clipRange ?? 0 };
    const values = { T, R, U: units?.count ?? 0, ...lossValues(loss), ...index.values, ...clipRange };
    const pass = (pause?: () => Promise<void>) => plan.run(values, inputs, { split, between: pause });
    const started = this.clock.monotonic();
    const isWarm = plan === this.warm;
    this.warm = plan;
    const read = between && isWarm ? await this.meter.watch(T, between, pass) : await pass(between);
    if (between === undefined) this.msPerToken = (this.clock.monotonic() - started) / T;
    return { stats: read.stats as Float32Array, values: (read.values as Float32Array | undefined) ?? null };
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
    this.value = this.head === null ? null : "policy";
    return this.record(sizes).measure();
  }

  private build(sizes: PlanSizes): Promise<Plan> {
    return this.record(sizes).build();
  }

  private record({ tokens, records }: PlanSizes): PlanBuilder {
    const { model, recomputedLayers } = this;
    const plan = new PlanBuilder(model.device, "gradients");
    const T = plan.dim("T", tokens);
    const packed: PackedInputs = recordPackedInputs(plan, T);
    const R = plan.dim("R", records);
    const index = recordIndex(plan, T, R);
    const { hidden, saved } = recordDecoder(plan, model, packed, { recomputedLayers });
    const src = plan.input("src", [R], "u32");
    const ofValues = this.recordValues(plan, hidden, src, index);
    const { stats, dh } = lossHead(
      plan,
      {
        ...{ h: hidden, w: model.weights.head, src },
        target: plan.input("target", [R], "u32"),
        weight: plan.input("weight", [R]),
        advantage: plan.input("advantage", [R]),
        oldLogprob: plan.input("oldLogprob", [R]),
        refLogprob: plan.input("refLogprob", [R]),
        ...(isCoupled(this.kind) ? { units: this.recordUnits(plan, R, records) } : {}),
      },
      { w: this.gradients.head, h: ofValues, index },
      { kind: this.kind, chunkBytes: lossHeadChunkBytes },
    );
    plan.output("stats", stats);
    backwardDecoder(plan, saved, dh, this.gradients);
    return plan;
  }

  /** The value head with its gradients; those of the hidden states (T,C) are returned where they go on. */
  private recordValues(plan: PlanBuilder, h: Tensor, src: Tensor, index: RecordIndex): Tensor | undefined {
    const { head, value } = this;
    if (head === null || value === null) return undefined;
    const inputs = {
      ...{ h, ...head.tensors, src },
      weight: plan.input("value.weight", src.shape),
      oldValue: plan.input("value.old", src.shape),
      returns: plan.input("value.returns", src.shape),
    };
    const values = valueHead(plan, inputs);
    plan.output("values", values);
    if (value === "policy") return backwardValueHead(plan, inputs, values, head.gradientTensors, index);
    accumulateValueHead(plan, inputs, values, head.gradientTensors);
    return undefined;
  }
}

/** Inputs of the value head: the coefficient is a factor of the records' weights. */
function valueInputs(
  { weight }: MicroBatch,
  { config: { coef }, targets: { oldValue, returns } }: NonNullable<PassExtras["value"]>,
): Record<string, Float32Array> {
  return { "value.weight": weight.map((w) => coef * w), "value.old": oldValue, "value.returns": returns };
}
