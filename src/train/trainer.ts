import type { Clock } from "../core/clock.ts";
import { FormatError } from "../core/errors.ts";
import { encodeSafetensors, type TensorSource } from "../io/safetensors.ts";
import { decoderWeights } from "../model/decoder_weights.ts";
import { loadWeights } from "../model/load_weights.ts";
import { memoryWeights } from "../model/memory_weights.ts";
import { type Model, namedTensors } from "../model/model.ts";
import { PackedTensors } from "../model/packed_tensors.ts";
import type { LossConfig, OptimizerConfig, TrainRow, UpdateResult } from "../schema/engine.ts";
import { GradientPlan } from "./gradient_plan.ts";
import { packRows } from "./micro_batches.ts";
import { Optimizer } from "./optimizer.ts";
import { type RecordStatistics, StepStatistics, statColumns } from "./step_statistics.ts";

/** How a trainer works. */
export interface TrainerOptions {
  /** Most tokens computed at once; a step with more is split and its gradients summed. */
  readonly microBatchTokens: number;
  readonly clock: Clock;
}

/** What a step may be watched or interrupted by. */
export interface StepHooks {
  /** Called between quanta of device work; others may use the device until it resolves. */
  readonly between?: () => Promise<void>;
}

/** Numbers of one step; the engine adds the policy version. */
export type StepResult = Omit<UpdateResult, "version">;

/** Gradients of a step before the optimizer: sums over records, and (R,8) statistics row by row. */
export interface GradientResult {
  readonly statistics: RecordStatistics;
  readonly stats: Float32Array;
}

/** Trains one model: gradients over packed rows, then AdamW, all on the device. */
export class Trainer {
  readonly model: Model;
  readonly gradients: PackedTensors;
  private readonly options: TrainerOptions;
  private readonly optimizer: Optimizer;
  private readonly plan: GradientPlan;
  private skipped = 0;

  /** @throws DeviceError "device_memory" when gradients and moments do not fit */
  constructor(model: Model, options: TrainerOptions) {
    this.model = model;
    this.options = options;
    const { device, description, parameters } = model;
    this.gradients = new PackedTensors(device, parameters.layout, "gradients");
    this.optimizer = new Optimizer(device, parameters, this.gradients);
    this.plan = new GradientPlan(model, decoderWeights(description, this.gradients), options);
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
   * @throws LeydenError "train_row", "train_row_too_long"
   */
  async step(
    rows: readonly TrainRow[],
    loss: LossConfig,
    optimizer: OptimizerConfig,
    hooks: StepHooks = {},
  ): Promise<StepResult> {
    const started = this.options.clock.monotonic();
    const { statistics, stats } = await this.computeGradients(rows, loss, hooks);
    const empty = !rows.some((row) => row.weight.some((w) => w !== 0));
    const { gradNorm, finite } = empty ? { gradNorm: 0, finite: true } : await this.optimizer.step(optimizer);
    if (!finite) this.skipped++;
    return {
      ...statistics,
      skipped: empty ? "empty_batch" : finite ? null : "nan_gradient",
      gradNorm,
      logprobs: Float32Array.from({ length: statistics.tokens }, (_, r) => stats[r * statColumns.width] as number),
      trainMs: this.options.clock.monotonic() - started,
    };
  }

  /**
   * Replaces `gradients` by those of the rows' loss; nothing else changes.
   * @throws LeydenError "train_row", "train_row_too_long"
   */
  async computeGradients(rows: readonly TrainRow[], loss: LossConfig, hooks: StepHooks = {}): Promise<GradientResult> {
    const { vocabSize, contextLength } = this.model.description;
    const { microBatchTokens } = this.options;
    const batches = packRows(rows, { vocabSize, contextLength, microBatchTokens });
    const statistics = new StepStatistics(loss);
    const firstRecord = recordOffsets(rows);
    const stats = new Float32Array(statColumns.width * (firstRecord.at(-1) as number));
    this.gradients.clear();
    for (const [i, batch] of batches.entries()) {
      const got = await this.plan.run(batch, loss, hooks);
      statistics.add(batch, got);
      for (const { row, firstRecord: from } of batch.rows) {
        const count = (rows[row] as TrainRow).src.length;
        const part = got.subarray(statColumns.width * from, statColumns.width * (from + count));
        stats.set(part, statColumns.width * (firstRecord[row] as number));
      }
      if (i < batches.length - 1) await hooks.between?.();
    }
    return { statistics: statistics.result(), stats };
  }

  /** The optimizer's moments as the bytes of a safetensors file, with the number of steps in its metadata. */
  optimizerFile(): Promise<Uint8Array> {
    const { family, description } = this.model;
    const { first, second } = this.optimizer;
    const tensors: TensorSource[] = [
      ...namedTensors(family, description, first, "F32", momentPrefix.first),
      ...namedTensors(family, description, second, "F32", momentPrefix.second),
    ];
    return encodeSafetensors(tensors, { steps: String(this.optimizer.steps) });
  }

  /**
   * Continues from what `optimizerFile` returned.
   * @throws FormatError "optimizer_state" when it has no step count; or the loader's for tensors that do not fit
   */
  async restoreOptimizer(bytes: Uint8Array): Promise<void> {
    const source = await memoryWeights("optimizer.safetensors", bytes);
    const steps = Number(source.metadata.steps);
    if (!Number.isSafeInteger(steps) || steps < 0) {
      throw new FormatError(
        "optimizer_state",
        `optimizer.safetensors states the step count "${source.metadata.steps}".`,
        {
          do: "Resume from a checkpoint that Leyden saved.",
        },
      );
    }
    const { family, description } = this.model;
    const moments = { first: this.optimizer.first, second: this.optimizer.second };
    for (const key of ["first", "second"] as const) {
      const prefix = momentPrefix[key];
      const names = source.names.filter((n) => n.startsWith(prefix)).map((n) => n.slice(prefix.length));
      const part = {
        path: source.path,
        names,
        entry: (name: string) => source.entry(prefix + name),
        read: (name: string) => source.read(prefix + name),
      };
      await loadWeights(part, family, description, moments[key]);
    }
    this.optimizer.steps = steps;
  }

  /** Releases everything but the model. */
  dispose(): void {
    this.plan.dispose();
    this.optimizer.dispose();
    this.gradients.dispose();
  }
}

/** torch.optim.AdamW's names for the moments. */
const momentPrefix = { first: "exp_avg.", second: "exp_avg_sq." } as const;

/** Index of each row's first record in the step, and their number at the end. */
function recordOffsets(rows: readonly TrainRow[]): number[] {
  const offsets = [0];
  for (const row of rows) offsets.push((offsets.at(-1) as number) + row.src.length);
  return offsets;
}
