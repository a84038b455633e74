import type { GroupRecord, RolloutRecord, CallRecord as TrainedCall } from "../rl/batch/batch_input.ts";
import { enqueueEvents, type NamedCreate } from "../rollout/enqueue.ts";
import type { RolloutHooks } from "../rollout/hooks.ts";
import { earnedBy } from "../schema/earned.ts";
import type { CallRecord, Store } from "../schema/store.ts";
import type { TaskRow } from "../schema/task.ts";
import { eventTypes, type Rollout, type RolloutConfig, type RolloutMode } from "../schema/wire.ts";
import { withEarned } from "./earned.ts";

/** Rollouts of one task that run side by side. */
export interface Group {
  /** Unique in the run; equal in every run of the same seed. */
  readonly id: string;
  readonly task: TaskRow;
  readonly rolloutIds: readonly string[];
}

/** A group whose rollouts are named after it: their names, and with them every draw, are the same in each run. */
export function nameGroup(id: string, task: TaskRow, size: number): Group {
  return { id, task, rolloutIds: Array.from({ length: size }, (_, j) => `${id}-s${j}`) };
}

/** What new rollouts are made with. */
export interface StartOptions {
  readonly store: Store;
  readonly isTrain: boolean;
  readonly config: RolloutConfig;
  readonly hooks: RolloutHooks;
  /** Seconds since the epoch. */
  readonly now: number;
}

/**
 * Creates the rollouts of groups, each first shown to onEnqueue. Those that exist already are left as they are, unless one
 * of their group has another task: a dataset may have changed since, and then the whole group is made again.
 */
export async function startGroups(groups: readonly Group[], o: StartOptions): Promise<void> {
  const missing: NamedCreate[] = [];
  const foreign: string[] = [];
  for (const group of groups) {
    const creates = createsOf(group, o);
    const known = await Promise.all(creates.map((create) => o.store.rollout(create.rollout_id)));
    const found = known.filter((rollout) => rollout !== null);
    const isHooked = o.hooks.onEnqueue !== undefined;
    const isOther = found.some((rollout) => !isOfTask(rollout, group.task, isHooked));
    if (isOther) foreign.push(...found.map((rollout) => rollout.rollout_id));
    missing.push(...creates.filter((_, i) => isOther || known[i] === null));
  }
  const deletions = foreign.map((rolloutId) => ({ type: "rollout_deleted" as const, rolloutId, at: o.now }));
  const events = [...deletions, ...(await enqueueEvents(missing, o.hooks, o.now))];
  if (events.length > 0) await o.store.append(events);
}

/**
 * True for a rollout of this task: of its id, and of its contents as far as these can be compared, which they cannot where
 * onEnqueue may have changed them.
 */
export function isOfTask({ input, hidden, metadata }: Rollout, task: TaskRow, isHooked: boolean): boolean {
  if (metadata.task !== task.id) return false;
  return isHooked || (isSame(input, task.input) && isSame(hidden, task.hidden));
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function createsOf(group: Group, { isTrain, config }: StartOptions): NamedCreate[] {
  return group.rolloutIds.map((id, index) => ({
    rollout_id: id,
    input: group.task.input,
    hidden: group.task.hidden,
    is_train: isTrain,
    config,
    metadata: { task: group.task.id, group: group.id, sample_idx_in_batch: index },
  }));
}

/**
 * A finished rollout as the trainer sees it, or as what validates does: calls that were sampled for another purpose are
 * excluded. @throws nothing; a rollout that is gone has no calls and failed
 */
export async function readRollout(store: Store, id: string, purpose: RolloutMode = "train"): Promise<RolloutRecord> {
  const rollout = await store.rollout(id);
  if (rollout === null) return { id, attempt: "0", status: "failed", reward: null, calls: [] };
  const attempt = rollout.status.last_attempt_id ?? "0";
  const [events, calls] = await Promise.all([store.events(id, attempt, eventTypes.reward), store.calls(id, attempt)]);
  return withEarned(
    { id, attempt, status: statusOf(rollout), calls: calls.map((call) => trainedCall(call, purpose)) },
    earnedBy(
      events,
      calls.map((call) => call.id),
    ),
  );
}

/** All rollouts of a finished group. */
export async function readGroup(store: Store, group: Group, purpose?: RolloutMode): Promise<GroupRecord> {
  const rollouts = await Promise.all(group.rolloutIds.map((id) => readRollout(store, id, purpose)));
  return { id: group.id, task: group.task.id, rollouts, expected: group.rolloutIds.length };
}

function statusOf(rollout: Rollout): RolloutRecord["status"] {
  if (rollout.status.state === "succeeded") return "succeeded";
  return /timed out/i.test(rollout.status.error_message ?? "") ? "timed_out" : "failed";
}

function trainedCall(call: CallRecord, purpose: RolloutMode): TrainedCall {
  const excluded = exclusion(call, purpose);
  return {
    id: call.id,
    attempt: call.attemptId,
    key: call.callKey,
    promptIds: call.tokens.promptIds,
    replyIds: call.tokens.replyIds,
    logprobs: call.tokens.logprobs,
    versions: call.tokens.versions,
    constrained: call.truncated || call.constrained === true,
    breakReason: call.breakReason,
    agent: agentOf(call),
    policy: call.policy,
    ...(call.finishReason === "length" ? { cutOff: true } : {}),
    ...(excluded === null ? {} : { excluded }),
  };
}

/** Agents of one rollout are told apart by the model they ask for; those that ask for none are one. */
function agentOf({ request, policy }: CallRecord): string {
  return typeof request.model === "string" ? request.model : policy;
}

function exclusion(call: CallRecord, purpose: RolloutMode): string | null {
  if (!call.own) return "another model";
  if (call.server.endpoint === "null") return "no model computed it";
  if (call.mode !== purpose) return `not sampled for ${purpose === "train" ? "training" : "validation"}`;
  if (call.side !== undefined) return "side call";
  return call.delivery === "abandoned" ? "abandoned" : null;
}
