import { CancelledError, ConfigError } from "../core/errors.ts";
import { deriveKey, Rng, seedKey } from "../core/rng.ts";
import type { TrainRow } from "../schema/engine.ts";
import type { LossConfig, OptimizerConfig } from "../schema/loss.ts";
import type { SftDataset, SftExample } from "../schema/sft.ts";
import type { StepResult, Trainer } from "./trainer.ts";

/** Course of a supervised training: warm-up to `learningRate`, then a cosine down to `finalShare` of it. */
export interface SftSchedule {
  readonly steps: number;
  /** Examples per optimizer step. */
  readonly batchRows: number;
  readonly learningRate: number;
  readonly warmupSteps: number;
  /** Learning rate of the last step as a share of the highest. */
  readonly finalShare: number;
  readonly optimizer: Omit<OptimizerConfig, "learningRate">;
  readonly seed: number;
}

/** One step of the record. */
export interface SftStep extends StepResult {
  /** 1 for the first. */
  readonly step: number;
  readonly learningRate: number;
}

const crossEntropy: LossConfig = {
  kind: "cross_entropy",
  temperature: 1,
  clipLow: 0,
  clipHigh: 0,
  dualClip: 0,
  klCoef: 0,
  klKind: "k3",
  entropyCoef: 0,
};

/** Learning rate of step `step` (1 for the first): linear warm-up, then a cosine that ends at `finalShare`. */
export function learningRateAt(schedule: SftSchedule, step: number): number {
  const { learningRate, warmupSteps, steps, finalShare } = schedule;
  if (step <= warmupSteps) return (learningRate * step) / warmupSteps;
  const progress = steps <= warmupSteps + 1 ? 1 : (step - warmupSteps - 1) / (steps - warmupSteps - 1);
  return learningRate * (finalShare + (1 - finalShare) * 0.5 * (1 + Math.cos(Math.PI * progress)));
}

/**
 * Rows of a batch of examples with cross entropy averaged over all masked tokens of the batch; the first token of an
 * example has nothing before it and is never predicted.
 */
export function sftRows(examples: readonly SftExample[]): TrainRow[] {
  const learnt = examples.map((e, i) => learntTokens(e, i));
  const weight =
    1 /
    Math.max(
      1,
      learnt.reduce((n, t) => n + t.length, 0),
    );
  return examples.map((example, i) => {
    const targets = learnt[i] as number[];
    const zeros = new Float32Array(targets.length);
    return {
      ids: Int32Array.from(example.ids),
      src: Int32Array.from(targets, (t) => t - 1),
      target: Int32Array.from(targets, (t) => example.ids[t] as number),
      weight: new Float32Array(targets.length).fill(weight),
      advantage: zeros,
      oldLogprob: zeros,
    };
  });
}

function learntTokens({ ids, mask }: SftExample, index: number): number[] {
  if (ids.length !== mask.length) {
    throw new ConfigError(`Example ${index} of the batch has ${ids.length} ids and a mask of ${mask.length}.`, {
      do: "Give one mask value per token.",
    });
  }
  const tokens: number[] = [];
  for (let t = 1; t < ids.length; t++) if (mask[t] !== 0) tokens.push(t);
  return tokens;
}

/** The numbers 0..size-1 over and over, in a new seeded order each time round; any position can be asked for. */
export class ShuffledEpochs {
  private readonly size: number;
  private readonly seed: number;
  private epoch = -1;
  private order: readonly number[] = [];

  constructor(size: number, seed: number) {
    this.size = size;
    this.seed = seed;
  }

  /** The number at a position of the endless sequence. */
  at(position: number): number {
    const epoch = Math.floor(position / this.size);
    if (epoch !== this.epoch) {
      const rng = new Rng(deriveKey(seedKey(this.seed), "sft/order", epoch));
      this.order = rng.shuffled(Array.from({ length: this.size }, (_, i) => i));
      this.epoch = epoch;
    }
    return this.order[position % this.size] as number;
  }

  /** `count` numbers from a position on. */
  slice(position: number, count: number): number[] {
    return Array.from({ length: count }, (_, i) => this.at(position + i));
  }
}

/**
 * Supervised fine-tuning: one optimizer step after the other; `report` sees each.
 * @throws ConfigError for an empty dataset or a schedule without steps; LeydenError "train_row" for an example that
 *   does not fit the model; CancelledError when the signal fires.
 */
export async function runSft(
  trainer: Trainer,
  dataset: SftDataset,
  schedule: SftSchedule,
  report: (step: SftStep) => void,
  signal?: AbortSignal,
): Promise<void> {
  if (dataset.size < 1 || schedule.steps < 1 || schedule.batchRows < 1) {
    throw new ConfigError(
      `Training needs examples, steps and rows per step; got ${dataset.size}, ${schedule.steps} and ${schedule.batchRows}.`,
      { do: "Give a data file with examples, and at least 1 step and 1 row." },
    );
  }
  const order = new ShuffledEpochs(dataset.size, schedule.seed);
  for (let step = 1; step <= schedule.steps; step++) {
    if (signal?.aborted === true) throw new CancelledError("Training");
    const chosen = order.slice((step - 1) * schedule.batchRows, schedule.batchRows);
    const examples = chosen.map((i) => dataset.example(i));
    const learningRate = learningRateAt(schedule, step);
    const result = await trainer.step(sftRows(examples), crossEntropy, { ...schedule.optimizer, learningRate });
    report({ ...result, step, learningRate });
  }
}
