import type { AdvantageConfig } from "../rl/advantages/registry.ts";
import type { Batch, BatchOptions, GroupRecord } from "../rl/batch/batch_input.ts";
import { buildBatch } from "../rl/batch/build_batch.ts";
import type { Normalisation } from "../rl/normalisation.ts";
import type { DeviceTime, Engine, UpdateResult } from "../schema/engine.ts";
import type { LossConfig, OptimizerConfig } from "../schema/loss.ts";
import type { TrainConfig } from "../schema/train_config.ts";
import type { MetricsLine } from "./run_folder.ts";

/** An optimizer step with the batch it was taken on. */
export interface TakenStep {
  readonly batch: Batch;
  readonly result: UpdateResult;
}

/** What an update is made with, the same for all its groups. */
export interface UpdateTerms {
  readonly batch: Partial<BatchOptions>;
  readonly loss: LossConfig;
  readonly optimizer: OptimizerConfig;
}

/** A configuration's training section as batch and engine take it. */
export function updateTerms(t: TrainConfig): UpdateTerms {
  const missing = t.missingReward;
  const { temperature, clipLow, clipHigh, dualClip, klCoef, klKind, entropyCoef } = t;
  const { learningRate, beta1, beta2, eps, weightDecay, maxGradNorm } = t;
  return {
    batch: {
      view: t.view,
      level: t.level,
      advantage: { estimator: t.advantage, ...t.advantageOptions } as AdvantageConfig,
      normalisation: t.normalisation as Normalisation,
      normalisationLength: t.normalisationLength,
      missingReward: missing === "drop" ? "exclude" : "fill",
      rewardFill: missing === "drop" ? 0 : missing,
      skipZeroAdvantage: t.klCoef === 0 && t.entropyCoef === 0,
    },
    loss: { kind: "ppo", temperature, clipLow, clipHigh, dualClip, klCoef, klKind, entropyCoef },
    optimizer: { learningRate, beta1, beta2, eps, weightDecay, maxGradNorm },
  };
}

/** The batch of finished groups for the weights that an engine has now. @throws as buildBatch */
export async function batchFor(engine: Engine, groups: readonly GroupRecord[], terms: UpdateTerms): Promise<Batch> {
  const { version, microBatchTokens } = await engine.info();
  return buildBatch(groups, {
    ...terms.batch,
    maxRowTokens: microBatchTokens,
    maxCallTokens: microBatchTokens,
    version,
  });
}

/** Takes one optimizer step on finished groups. */
export async function takeStep(
  engine: Engine,
  id: string,
  groups: readonly GroupRecord[],
  terms: UpdateTerms,
): Promise<TakenStep> {
  const batch = await batchFor(engine, groups, terms);
  const { loss, optimizer } = terms;
  return { batch, result: await engine.update({ id, rows: batch.rows, loss, optimizer }) };
}

/** The metrics of one update: the batch's, the step's, the agreement's, and the device's time since the last line. */
export function metricsLine(
  step: number,
  time: number,
  taken: TakenStep,
  agreement: Readonly<Record<string, number>>,
  device: DeviceTime,
): MetricsLine {
  const { batch, result } = taken;
  return {
    step,
    version: result.version,
    time,
    ...batch.metrics,
    ...agreement,
    "training/skipped": result.skipped,
    "actor/loss": result.loss,
    "actor/entropy": result.entropy,
    "actor/grad_norm": result.gradNorm,
    "actor/pg_clipfrac": result.clipFrac,
    "actor/pg_clipfrac_lower": result.dualClipFrac,
    "actor/ppo_kl": result.approxKl,
    "timing_s/update_actor": result.trainMs / 1000,
    "device/prefill_s": device.prefill,
    "device/decode_s": device.decode,
    "device/train_s": device.train,
    "device/optimizer_s": device.optimizer,
    "device/score_s": device.score,
    "device/idle_s": device.idle,
  };
}

/** The device's time between two readings. */
export function deviceTimeSince(now: DeviceTime, before: DeviceTime): DeviceTime {
  return {
    prefill: now.prefill - before.prefill,
    decode: now.decode - before.decode,
    train: now.train - before.train,
    optimizer: now.optimizer - before.optimizer,
    score: now.score - before.score,
    idle: now.idle - before.idle,
  };
}
