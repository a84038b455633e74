import type { GroupRecord } from "../rl/batch/batch_input.ts";
import { type PreparedBatch, prepareBatch } from "../rl/batch/prepare_batch.ts";
import type { DeviceTime, EngineInfo } from "../schema/engine.ts";
import type { Objective } from "./objective.ts";

/** What an update is made with, the same for all its groups. */
export type UpdateTerms = Pick<Objective, "batch" | "loss" | "optimizer">;

/** The rows of finished groups for an engine's weights. @throws as prepareBatch */
export function preparedFor(
  { version, microBatchTokens }: Pick<EngineInfo, "version" | "microBatchTokens">,
  groups: readonly GroupRecord[],
  terms: Pick<UpdateTerms, "batch">,
): PreparedBatch {
  return prepareBatch(groups, {
    ...terms.batch,
    maxRowTokens: microBatchTokens,
    maxCallTokens: microBatchTokens,
    version,
  });
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
