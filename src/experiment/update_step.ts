import type { Batch, GroupRecord } from "../rl/batch/batch_input.ts";
import { buildBatch } from "../rl/batch/build_batch.ts";
import type { DeviceTime, EngineInfo } from "../schema/engine.ts";
import type { Objective } from "./objective.ts";
import type { MetricsLine } from "./run_folder.ts";
import { stepMetrics, type TakenUpdate } from "./take_update.ts";

/** What an update is made with, the same for all its groups. */
export type UpdateTerms = Pick<Objective, "batch" | "loss" | "optimizer">;

/** The batch of finished groups for an engine's weights. @throws as buildBatch */
export function batchFor(
  { version, microBatchTokens }: Pick<EngineInfo, "version" | "microBatchTokens">,
  groups: readonly GroupRecord[],
  terms: UpdateTerms,
): Batch {
  return buildBatch(groups, {
    ...terms.batch,
    maxRowTokens: microBatchTokens,
    maxCallTokens: microBatchTokens,
    version,
  });
}

/** The metrics of one update: the batch's, the step's, the agreement's, and the device's time since the last line. */
export function metricsLine(
  step: number,
  time: number,
  taken: TakenUpdate,
  agreement: Readonly<Record<string, number>>,
  device: DeviceTime,
): MetricsLine {
  return {
    step,
    time,
    ...taken.batch.metrics,
    ...agreement,
    ...stepMetrics(taken),
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
