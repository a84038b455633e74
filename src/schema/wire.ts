/**
 * The shapes that cross the wire between gateway, controller, trainer and agents: Agent Lightning v1's JSON (snake_case,
 * times in float seconds since the epoch), with Leyden's own fields optional, so that either side may be the original.
 */
import { z } from "zod";
import { lenientBoolean, lenientInteger } from "./lenient_json.ts";

/** Where a rollout stands. `succeeded` and `failed` are final. */
export type RolloutState = "queuing" | "running" | "succeeded" | "failed";

/** Every state, in the order a rollout passes them. */
export const rolloutStates: readonly RolloutState[] = ["queuing", "running", "succeeded", "failed"];

/** The legal next states of each state. */
export const rolloutTransitions: Readonly<Record<RolloutState, readonly RolloutState[]>> = {
  queuing: ["running", "failed"],
  running: ["succeeded", "failed"],
  succeeded: [],
  failed: [],
};

/** Whether a call's tokens are for training or only for measuring. */
export type RolloutMode = "train" | "val";

/** Who decides a rollout's reward. A reward that an agent posts counts only when the source is `agent`. */
export type RewardSource = "grader" | "exit" | "agent";

/** How a local controller starts the agent in Agent Lightning's protocol. */
export interface LocalRunnerConfig {
  agent_class: string | null;
  env_map: Record<string, string>;
}

/** How a Kubernetes controller starts the agent: the template's text. */
export interface K8sRunnerConfig {
  job_template: string | null;
}

/** How one rollout is run. */
export interface RolloutConfig {
  /** Run time limit of an attempt in seconds; 0 means none. */
  timeout_seconds: number;
  local: LocalRunnerConfig | null;
  k8s: K8sRunnerConfig | null;
  /** Leyden's addition; absent means rewards posted with a rollout's own key are only claims. */
  reward?: { source: RewardSource };
}

/** Free keys beside two known counters; always holds both, null when unknown. */
export interface RolloutMetadata {
  batch_idx: number | null;
  sample_idx_in_batch: number | null;
  [key: string]: unknown;
}

/** One item of `POST /api/rollouts`. */
export interface RolloutCreate {
  /** Any JSON, null included. */
  input: unknown;
  is_train?: boolean;
  config?: RolloutConfig | null;
  metadata?: Record<string, unknown> | null;
  /** Absent, null or empty: the gateway makes one. An id that exists returns the stored rollout unchanged. */
  rollout_id?: string | null;
  /** Leyden's addition: what only graders may see. */
  hidden?: unknown;
}

/** The part of a rollout that changes. `version` counts patches from 1. */
export interface RolloutStatus {
  state: RolloutState;
  k8s_job_name: string | null;
  last_attempt_id: string | null;
  error_message: string | null;
  version: number;
  created_at: number;
  updated_at: number;
}

/** One run of the harness on a task. */
export interface Rollout {
  rollout_id: string;
  input: unknown;
  is_train: boolean;
  config: RolloutConfig;
  metadata: RolloutMetadata;
  status: RolloutStatus;
  /** Present only when it was given; never shown to a rollout's own key. */
  hidden?: unknown;
}

/** Fields to change; a key that is present applies, null included. `state: null` is an illegal transition. */
export interface StatusPatch {
  state?: RolloutState | null;
  k8s_job_name?: string | null;
  last_attempt_id?: string | null;
  error_message?: string | null;
}

/** Body of `PATCH /api/rollouts/{id}`. */
export interface RolloutPatch {
  status?: StatusPatch | null;
}

/** Reply of `GET /api/rollouts/{id}`; attempts in the order of their first event. */
export interface RolloutDetail {
  rollout: Rollout;
  attempts: string[];
}

/** One finished rollout as the terminal cursor shows it. */
export interface TerminalItem {
  rollout_id: string;
  state: "succeeded" | "failed";
  data_id: string;
  is_train: boolean;
}

/** Reply of `GET /api/rollouts/terminal`. */
export interface TerminalPage {
  items: TerminalItem[];
  next_after: number;
  total_terminal: number;
}

/** Event types with a meaning of their own; any other text is allowed. */
export const eventTypes = {
  /** One LLM call. */
  modelRequest: "model_request",
  /** A reward that counts: `data.value`. The last one wins. */
  reward: "reward",
  /** A reward an agent posted although its source is not `agent`: kept, never counted. */
  claimedReward: "claimed_reward",
} as const;

/** Body of `POST /api/rollouts/{id}/attempt/{attempt}/events`. */
export interface EventCreate {
  event_type: string;
  data?: Record<string, unknown>;
  /** Leyden's addition: posting the same id to the same rollout again returns the first event and adds nothing. */
  event_id?: string | null;
}

/** Something that happened in an attempt. Its place in the list is its identity. */
export interface RolloutEvent {
  event_type: string;
  rollout_id: string;
  attempt_id: string;
  timestamp: number;
  data: Record<string, unknown>;
}

const nullableText = z.string().nullish().default(null);
const anyObject = z.record(z.string(), z.unknown());

/** One of the four states. */
export const rolloutStateSchema: z.ZodType<RolloutState> = z.enum(["queuing", "running", "succeeded", "failed"]);

/** Unknown keys are dropped, missing ones take their defaults. */
export const rolloutConfigSchema: z.ZodType<RolloutConfig> = z.object({
  timeout_seconds: lenientInteger.default(3600),
  local: z
    .object({ agent_class: nullableText, env_map: z.record(z.string(), z.string()).default({}) })
    .nullish()
    .default(null),
  k8s: z.object({ job_template: nullableText }).nullish().default(null),
  reward: z.object({ source: z.enum(["grader", "exit", "agent"]) }).optional(),
});

/** Checks the two known counters and keeps everything else. */
export const rolloutMetadataSchema: z.ZodType<RolloutMetadata> = z.looseObject({
  batch_idx: lenientInteger.nullable().default(null),
  sample_idx_in_batch: lenientInteger.nullable().default(null),
});

const rolloutCreateSchema: z.ZodType<RolloutCreate> = z.object({
  input: z.unknown().refine((value) => value !== undefined, { params: { missing: true } }),
  is_train: lenientBoolean.optional(),
  config: rolloutConfigSchema.nullish(),
  metadata: anyObject.nullish(),
  rollout_id: z.string().nullish(),
  hidden: z.unknown().optional(),
});

/** Body of `POST /api/rollouts`; `metadata` is checked later, by rolloutMetadataSchema, as Agent Lightning does. */
export const rolloutCreateListSchema: z.ZodType<RolloutCreate[]> = z.array(rolloutCreateSchema);

/** Unknown keys are refused. */
export const statusPatchSchema: z.ZodType<StatusPatch> = z.strictObject({
  state: rolloutStateSchema.nullish(),
  k8s_job_name: z.string().nullish(),
  last_attempt_id: z.string().nullish(),
  error_message: z.string().nullish(),
});

export const rolloutPatchSchema: z.ZodType<RolloutPatch> = z.object({ status: statusPatchSchema.nullish() });

export const eventCreateSchema: z.ZodType<EventCreate> = z.object({
  event_type: z.string(),
  data: anyObject.optional(),
  event_id: z.string().nullish(),
});

export const rolloutStatusSchema: z.ZodType<RolloutStatus> = z.object({
  state: rolloutStateSchema,
  k8s_job_name: z.string().nullable(),
  last_attempt_id: z.string().nullable(),
  error_message: z.string().nullable(),
  version: z.int(),
  created_at: z.number(),
  updated_at: z.number(),
});

/** For clients: what the gateway answers. */
export const rolloutSchema: z.ZodType<Rollout> = z.object({
  rollout_id: z.string(),
  input: z.unknown(),
  is_train: z.boolean(),
  config: rolloutConfigSchema,
  metadata: rolloutMetadataSchema,
  status: rolloutStatusSchema,
  hidden: z.unknown().optional(),
});

/** For clients: what the gateway answers. */
export const rolloutEventSchema: z.ZodType<RolloutEvent> = z.object({
  event_type: z.string(),
  rollout_id: z.string(),
  attempt_id: z.string(),
  timestamp: z.number(),
  data: anyObject,
});
