import type { UpdateResult } from "../schema/engine.ts";
import type { LossConfig } from "../schema/loss.ts";
import type { MicroBatch } from "./micro_batches.ts";

/** Numbers of a step that come from its prediction records. */
export type RecordStatistics = Pick<
  UpdateResult,
  | "loss"
  | "pgLoss"
  | "kl"
  | "entropy"
  | "clipFrac"
  | "dualClipFrac"
  | "approxKl"
  | "logprobDiffMax"
  | "tokens"
  | "computedTokens"
>;

/** Columns of the loss head's statistics (R, 8). */
export const statColumns = {
  logprob: 0,
  entropy: 1,
  loss: 2,
  ratio: 3,
  clipped: 4,
  dualClipped: 5,
  kl: 6,
  width: 8,
} as const;

/**
 * Sums the statistics of a step's records in float64. Means are over records with non-zero weight; the comparisons with
 * oldLogprob are 0 for cross entropy, which has no sampler.
 */
export class StepStatistics {
  private readonly isPolicy: boolean;
  private readonly hasReference: boolean;
  private readonly coefs: Pick<LossConfig, "klCoef" | "entropyCoef">;
  private reference = 0;
  private loss = 0;
  private pgLoss = 0;
  private entropy = 0;
  private clipped = 0;
  private dualClipped = 0;
  private kl = 0;
  private diffMax = 0;
  private active = 0;
  private records = 0;
  private computed = 0;

  constructor(loss: LossConfig) {
    this.isPolicy = loss.kind !== "cross_entropy";
    this.hasReference = loss.klCoef !== 0;
    this.coefs = loss;
  }

  /** Adds one micro-batch's records; `stats` is row-major (R, 8). */
  add(batch: MicroBatch, stats: Float32Array): void {
    this.records += batch.src.length;
    this.computed += batch.ids.length;
    const { klCoef, entropyCoef } = this.coefs;
    for (let r = 0; r < batch.src.length; r++) {
      const column = (c: number): number => stats[statColumns.width * r + c] as number;
      const weight = batch.weight[r] as number;
      if (weight === 0) continue;
      this.active++;
      this.loss += column(statColumns.loss);
      const kl = klCoef === 0 ? 0 : klCoef * column(statColumns.kl);
      const bonus = entropyCoef === 0 ? 0 : entropyCoef * column(statColumns.entropy);
      this.pgLoss += column(statColumns.loss) - weight * (kl - bonus);
      this.entropy += column(statColumns.entropy);
      this.clipped += column(statColumns.clipped);
      this.dualClipped += column(statColumns.dualClipped);
      this.reference += column(statColumns.kl);
      const diff = (batch.oldLogprob[r] as number) - column(statColumns.logprob);
      this.kl += diff;
      this.diffMax = Math.max(this.diffMax, Math.abs(diff));
    }
  }

  result(): RecordStatistics {
    const mean = (sum: number): number => (this.active === 0 ? 0 : sum / this.active);
    return {
      loss: this.loss,
      pgLoss: this.pgLoss,
      entropy: mean(this.entropy),
      clipFrac: this.isPolicy ? mean(this.clipped) : 0,
      dualClipFrac: this.isPolicy ? mean(this.dualClipped) : 0,
      approxKl: this.isPolicy ? mean(this.kl) : 0,
      logprobDiffMax: this.isPolicy ? this.diffMax : 0,
      ...(this.hasReference ? { kl: mean(this.reference) } : {}),
      tokens: this.records,
      computedTokens: this.computed,
    };
  }
}
