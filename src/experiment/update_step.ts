import type { AdvantageConfig } from "../rl/advantages/registry.ts";
import type { Batch, GroupRecord } from "../rl/batch/batch_input.ts";
import { buildBatch } from "../rl/batch/build_batch.ts";
import type { Normalisation } from "../rl/normalisation.ts";
import type { DeviceTime, Engine, EngineInfo, UpdateRequest, UpdateResult } from "../schema/engine.ts";
import type { TrainConfig } from "../schema/experiment.ts";
import type { MetricsLine } from "./run_folder.ts";

/** An optimizer step with the batch it was taken on. */
export interface TakenStep {
  readonly batch: Batch;
  readonly result: UpdateResult;
}

/** The engine's request for a batch. */
function updateRequest(id: string, batch: Batch, t: TrainConfig): UpdateRequest {
  const { temperature, clipLow, clipHigh, dualClip, klCoef, klKind, entropyCoef } = t;
  const { learningRate, beta1, beta2, eps, weightDecay, maxGradNorm } = t;
  return {
    id,
    rows: batch.rows,
    loss: { kind: "ppo", temperature, clipLow, clipHigh, dualClip, klCoef, klKind, entropyCoef },
    optimizer: { learningRate, beta1, beta2, eps, weightDecay, maxGradNorm },
  };
}

/** Builds the batch of finished groups for the weights an engine has now. @throws as buildBatch */
function batchOf(
  groups: readonly GroupRecord[],
  t: TrainConfig,
  { version, microBatchTokens }: Pick<EngineInfo, "version" | "microBatchTokens">,
): Batch {
  const missing = t.missingReward;
  return buildBatch(groups, {
    view: t.view,
    level: t.level,
    advantage: { estimator: t.advantage, ...t.advantageOptions } as AdvantageConfig,
    normalisation: t.normalisation as Normalisation,
    normalisationLength: t.normalisationLength,
    maxRowTokens: microBatchTokens,
    maxCallTokens: microBatchTokens,
    missingReward: missing === "drop" ? "exclude" : "fill",
    rewardFill: missing === "drop" ? 0 : missing,
    skipZeroAdvantage: t.klCoef === 0 && t.entropyCoef === 0,
    version,
  });
}

/** Takes one optimizer step on finished groups. */
export async function takeStep(
  engine: Engine,
  id: string,
  groups: readonly GroupRecord[],
  train: TrainConfig,
): Promise<TakenStep> {
  const batch = batchOf(groups, train, await engine.info());
  return { batch, result: await engine.update(updateRequest(id, batch, train)) };
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
