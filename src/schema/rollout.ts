/** What a rollout is when it is made, and how a patch changes it: the same for every store. */
import { StoreError } from "./store_error.ts";
import {
  type Rollout,
  type RolloutConfig,
  type RolloutCreate,
  type RolloutMetadata,
  type RolloutState,
  rolloutTransitions,
  type StatusPatch,
} from "./wire.ts";

/** The configuration of a rollout that was created without one. */
export function defaultRolloutConfig(): RolloutConfig {
  return { timeout_seconds: 3600, local: null, k8s: null };
}

/** A queued rollout; `now` in seconds since the epoch. `metadata` must have passed rolloutMetadataSchema. */
export function newRollout(create: RolloutCreate, id: string, now: number): Rollout {
  const metadata: RolloutMetadata = { batch_idx: null, sample_idx_in_batch: null, ...create.metadata };
  return {
    rollout_id: id,
    input: create.input ?? null,
    is_train: create.is_train ?? true,
    config: create.config ?? defaultRolloutConfig(),
    metadata,
    status: {
      state: "queuing",
      k8s_job_name: null,
      last_attempt_id: null,
      error_message: null,
      version: 1,
      created_at: now,
      updated_at: now,
    },
    ...(create.hidden === undefined ? {} : { hidden: create.hidden }),
  };
}

/** Metadata of a rollout whose program somebody else starts. */
export const externallyRun = { runner: "external" } as const;

/** True for a rollout whose program somebody else starts: controllers leave it alone. */
export function isExternallyRun({ metadata }: Pick<Rollout, "metadata">): boolean {
  return metadata.runner === externallyRun.runner;
}

/** True for states without an exit. */
export function isTerminal(state: RolloutState): state is "succeeded" | "failed" {
  return state === "succeeded" || state === "failed";
}

/**
 * The rollout with the patch's fields applied, version + 1 and `at` as the time of change; the same object when the
 * patch names no field. @throws StoreError "illegal_transition", and then nothing of the patch applies.
 */
export function patchedRollout(rollout: Rollout, patch: StatusPatch, at: number): Rollout {
  const fields = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
  if (Object.keys(fields).length === 0) return rollout;
  const { state: from } = rollout.status;
  if ("state" in fields && (patch.state == null || !rolloutTransitions[from].includes(patch.state))) {
    const target = patch.state ?? "None";
    throw new StoreError(
      "illegal_transition",
      `Rollout ${rollout.rollout_id}: cannot transition ${from} -> ${target}`,
      "",
    );
  }
  const version = rollout.status.version + 1;
  return { ...rollout, status: { ...rollout.status, ...fields, version, updated_at: at } };
}

/** The task a rollout belongs to: `input.data_id`, else `input.instance_id`, else ""; zero and "" count as absent. */
export function dataIdOf(input: unknown): string {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return "";
  const { data_id: dataId, instance_id: instanceId } = input as Record<string, unknown>;
  const id = dataId || instanceId || "";
  return typeof id === "object" ? JSON.stringify(id) : String(id);
}
