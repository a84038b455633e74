import { LeydenError } from "../core/errors.ts";
import type { Tensor } from "../gpu/tensor.ts";
import { PackedTensors } from "../model/packed_tensors.ts";
import type { Policy } from "../model/policy.ts";
import { ScorePlan } from "../model/score_plan.ts";
import type { PlanSizes } from "../model/sized_plan.ts";
import type { ValueHead } from "../model/value_head.ts";
import { isCoupled } from "../ops/loss_settings.ts";
import type { TrainRow, UpdateResult } from "../schema/engine.ts";
import type { LossConfig, OptimizerConfig, ValueLossConfig } from "../schema/loss.ts";
import { StepUnits } from "./batch_units.ts";
import { GradientPlan, type GradientPlanOptions, type PassStatistics } from "./gradient_plan.ts";
import { type MicroBatch, packRows } from "./micro_batches.ts";
import type { MomentType } from "./moments.ts";
import { Optimizer } from "./optimizer.ts";
import { PolicyValueHead } from "./policy_value_head.ts";
import { recordOffsets } from "./score_rows.ts";
import { type RecordStatistics, StepStatistics, statColumns } from "./step_statistics.ts";
import { keepsOrder, TiedHeadGradient } from "./tied_head.ts";
import { ValueSums } from "./value_statistics.ts";
import { requireValueTargets, valueTargetsOf } from "./value_targets.ts";

/** How a trainer works; a step of more tokens than a micro-batch is split and its gradients summed. */
export interface TrainerOptions extends GradientPlanOptions {
  /** How the optimizer's moments are held; default f32. */
  readonly moments?: MomentType;
  /** A head on the policy's hidden states that says what states are worth. */
  readonly valueHead?: ValueHead;
}

/** How gradients of rows are computed. */
export interface PassOptions {
  /** Called between quanta of device work; others may use the device until it resolves. */
  readonly between?: (() => Promise<void>) | undefined;
  /** The value loss of the trainer's head; without it the head does not learn. */
  readonly value?: ValueLossConfig | undefined;
}

/** How a step ends what was collected. */
export interface StepOptions extends PassOptions {
  /** True: on top of the gradients that `addGradients` collected since the last step; else these are dropped. */
  readonly accumulated?: boolean;
  /** Factor of all gradients, and of the reported loss: normalises a step that was collected in parts. Default 1. */
  readonly gradientScale?: number;
}

/** Numbers of one step; the engine adds the policy version. */
export type StepResult = Omit<UpdateResult, "version" | "drainMs">;

/** Gradients of a step before the optimizer: sums over records, and (R,8) statistics row by row. */
export interface GradientResult {
  readonly statistics: RecordStatistics;
  readonly stats: Float32Array;
}

/** Of the gradients added since the last step. */
interface Collected {
  /** Their records' statistics. */
  statistics: StepStatistics | null;
  readonly values: ValueSums;
  /** A record has weight. */
  weighted: boolean;
}

function nothingCollected(): Collected {
  return { statistics: null, values: new ValueSums(), weighted: false };
}

/** Trains one model: gradients over packed rows, then AdamW, all on the device. */
export class Trainer {
  readonly model: Policy;
  readonly gradients: PackedTensors;
  private readonly options: TrainerOptions;
  private readonly optimizer: Optimizer;
  private readonly plan: GradientPlan;
  private readonly tiedHead: TiedHeadGradient | null;
  /** The head on the policy's hidden states; null without one. */
  readonly valueHead: PolicyValueHead | null;
  private scorePlan: ScorePlan | null = null;
  private collected: Collected = nothingCollected();
  private skipped = 0;

  /** @throws LeydenError "frozen_weights"; DeviceError "device_memory" when gradients and moments do not fit */
  constructor(model: Policy, options: TrainerOptions) {
    this.model = model;
    this.options = options;
    const { device, trained } = model;
    // Refuses frozen weights before anything is allocated.
    trained.segments();
    this.gradients = new PackedTensors(device, trained.layout, "gradients");
    const { valueHead, moments = "f32", microBatchTokens } = options;
    this.valueHead =
      valueHead === undefined ? null : new PolicyValueHead(model, valueHead, this.gradients, microBatchTokens);
    const joint = this.valueHead === null ? {} : { clippedWith: this.valueHead.gradients };
    this.optimizer = new Optimizer(device, trained, this.gradients, { moments, ...joint });
    const own = model.gradients(this.gradients);
    const apart = model.description.tiedHead && own.head !== undefined && own.embed !== undefined && keepsOrder(device);
    this.tiedHead = apart ? new TiedHeadGradient(device, own.embed as Tensor) : null;
    const into = this.tiedHead === null ? own : { ...own, head: this.tiedHead.tensor };
    this.plan = new GradientPlan(model, into, options, this.valueHead);
  }

  /** Optimizer steps taken so far, those of a restored state included. */
  get steps(): number {
    return this.optimizer.steps;
  }

  /** Steps that changed nothing because the gradient was not finite. */
  get skippedSteps(): number {
    return this.skipped;
  }

  /** Bytes of temporaries that the largest micro-batch so far needed. */
  get activationBytes(): number {
    return this.plan.arenaBytes;
  }

  /**
   * One optimizer step. A gradient that is not finite changes nothing and is counted; nor does a step in which
   * every weight is 0.
   * @throws LeydenError "train_row", "train_row_too_long", "no_critic" for a value loss without a head
   */
  async step(
    rows: readonly TrainRow[],
    loss: LossConfig,
    optimizer: OptimizerConfig,
    { accumulated = false, gradientScale = 1, ...options }: StepOptions = {},
  ): Promise<StepResult> {
    const started = this.options.clock.monotonic();
    if (!accumulated) this.clearGradients();
    const { stats } = await this.addGradients(rows, loss, options);
    const { statistics, values, weighted } = this.collected;
    if (weighted) await this.tiedHead?.fold();
    const { gradNorm, finite } = weighted
      ? await this.optimizer.step(optimizer, { factor: gradientScale })
      : { gradNorm: 0, finite: true };
    const { value } = options;
    if (weighted && value !== undefined) await this.valueHead?.stepWithPolicy(optimizer, value, gradientScale);
    const result = (statistics ?? new StepStatistics(loss)).result();
    this.clearGradients();
    if (!finite) this.skipped++;
    return {
      ...result,
      ...(value === undefined ? {} : { value: reported(values, gradientScale / value.coef) }),
      loss: result.loss * gradientScale,
      pgLoss: result.pgLoss * gradientScale,
      skipped: !weighted ? "empty_batch" : finite ? null : "nan_gradient",
      gradNorm,
      logprobs: recordLogprobs(stats),
      trainMs: this.options.clock.monotonic() - started,
    };
  }

  /** Forgets the gradients collected since the last step. */
  clearGradients(): void {
    this.gradients.clear();
    this.tiedHead?.clear();
    this.valueHead?.gradients.clear();
    this.collected = nothingCollected();
  }

  /**
   * Replaces `gradients` by those of the rows' loss; nothing else changes.
   * @throws LeydenError as addGradients
   */
  async computeGradients(
    rows: readonly TrainRow[],
    loss: LossConfig,
    options: PassOptions = {},
  ): Promise<GradientResult> {
    this.clearGradients();
    const result = await this.addGradients(rows, loss, options);
    await this.tiedHead?.fold();
    return result;
  }

  /**
   * Adds the gradients of the rows' loss to those collected since the last step, for `step` to take.
   * @throws LeydenError "train_row", "train_row_too_long", "no_critic", before anything was added
   */
  async addGradients(
    rows: readonly TrainRow[],
    loss: LossConfig,
    { between, value }: PassOptions = {},
  ): Promise<GradientResult> {
    const batches = this.pack(rows, loss, { between, value });
    const statistics = new StepStatistics(loss);
    this.collected.statistics ??= new StepStatistics(loss);
    this.collected.weighted ||= rows.some((row) => row.weight.some((w) => w !== 0));
    const firstRecord = recordOffsets(rows);
    const stats = new Float32Array(statColumns.width * (firstRecord.at(-1) as number));
    const units = isCoupled(loss.kind) ? await this.unitsOf(rows, batches, loss) : undefined;
    for (const [i, batch] of batches.entries()) {
      const learned = value && { config: value, targets: valueTargetsOf(rows, batch) };
      const got = await this.plan.run(batch, loss, { between, units: units?.of(i), value: learned });
      statistics.add(batch, got.stats);
      this.collect(batch, got);
      for (const { row, firstRecord: from } of batch.rows) {
        const count = (rows[row] as TrainRow).src.length;
        const part = got.stats.subarray(statColumns.width * from, statColumns.width * (from + count));
        stats.set(part, statColumns.width * (firstRecord[row] as number));
      }
      if (i < batches.length - 1) await between?.();
    }
    return { statistics: statistics.result(), stats };
  }

  /** The rows as micro-batches, once everything is known to be there that they need. */
  private pack(rows: readonly TrainRow[], loss: LossConfig, { between, value }: PassOptions): MicroBatch[] {
    if (value !== undefined) {
      if (this.valueHead === null) throw missingHead();
      requireValueTargets(rows);
    }
    const { vocabSize, contextLength } = this.model.description;
    const microBatchTokens = between === undefined ? this.options.microBatchTokens : this.tokensBetween(rows);
    return packRows(rows, { vocabSize, contextLength, microBatchTokens, needsRefLogprob: loss.klCoef !== 0 });
  }

  private collect(batch: MicroBatch, { stats, values }: PassStatistics): void {
    this.collected.statistics?.add(batch, stats);
    if (values !== null) this.collected.values.add(batch.weight, values);
  }

  /** Tokens of a micro-batch whose submits others wait for: fewer where those took too long, but room for every row. */
  private tokensBetween(rows: readonly TrainRow[]): number {
    const longest = rows.reduce((n, row) => Math.max(n, row.ids.length), 1);
    return Math.min(this.options.microBatchTokens, Math.max(longest, this.plan.mostTokensBetween));
  }

  /** Where the step's sequences lie; those that no micro-batch holds whole are scored first. */
  private async unitsOf(
    rows: readonly TrainRow[],
    batches: readonly MicroBatch[],
    loss: LossConfig,
  ): Promise<StepUnits> {
    const units = new StepUnits(rows, batches);
    if (!units.needsScores) return units;
    this.scorePlan ??= new ScorePlan(this.model, this.options.microBatchTokens);
    for (const [i, batch] of batches.entries()) {
      const { stats } = await this.scorePlan.run(batch, batch, loss.temperature);
      units.measure(i, recordLogprobs(stats), loss);
    }
    return units;
  }

  /** The optimizer's moments as the bytes of a safetensors file, with the number of steps in its metadata. */
  optimizerFile(): Promise<Uint8Array> {
    return this.optimizer.encode(this.model.savedForm);
  }

  /**
   * Continues from what `optimizerFile` returned.
   * @throws FormatError as Optimizer.restore
   */
  async restoreOptimizer(bytes: Uint8Array): Promise<void> {
    await this.optimizer.restore(this.model.savedForm, "optimizer.safetensors", bytes);
  }

  /** Bytes of the plans of a step whose largest micro-batch has these sizes, on a counting device. */
  measure(sizes: PlanSizes): number {
    return this.plan.measure(sizes) + this.optimizer.measure() + (this.valueHead?.measure(sizes) ?? 0);
  }

  /** Releases everything but the model. */
  dispose(): void {
    this.plan.dispose();
    this.scorePlan?.dispose();
    this.tiedHead?.dispose();
    this.valueHead?.dispose();
    this.optimizer.dispose();
    this.gradients.dispose();
  }
}

function missingHead(): LeydenError {
  return new LeydenError("no_critic", "A value loss was asked for, and this policy has no value head.", {
    do: "Open the engine with valueHead.",
  });
}

/** The value loss as results state it. */
function reported(values: ValueSums, factor: number): NonNullable<StepResult["value"]> {
  const { loss, clipFrac } = values.result(factor);
  return { loss, clipFrac };
}

/** Log-probability of every record, row by row, out of (R,8) statistics. */
export function recordLogprobs(stats: Float32Array): Float32Array {
  return Float32Array.from(
    { length: stats.length / statColumns.width },
    (_, r) => stats[r * statColumns.width] as number,
  );
}
