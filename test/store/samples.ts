import { newRollout } from "../../src/schema/rollout.ts";
import type { CallRecord } from "../../src/schema/store.ts";
import type { Rollout, RolloutEvent } from "../../src/schema/wire.ts";

/** A queued rollout. */
export function rollout(id: string, change: Partial<Rollout> = {}): Rollout {
  return { ...newRollout({ input: { data_id: `task-${id}` } }, id, 1000), ...change };
}

/** An event of attempt "0". */
export function event(rolloutId: string, type: string, data: Record<string, unknown> = {}): RolloutEvent {
  return { event_type: type, rollout_id: rolloutId, attempt_id: "0", timestamp: 1001.5, data };
}

/** A call of attempt "0" with these tokens; logprobs -0.1, -0.2, … as in the protocol's test vectors. */
export function call(
  id: string,
  rolloutId: string,
  promptIds: readonly number[],
  replyIds: readonly number[],
  change: Partial<CallRecord> = {},
): CallRecord {
  return {
    id,
    rolloutId,
    attemptId: "0",
    mode: "train",
    dialect: "chat_completions",
    policy: "policy",
    own: true,
    callKey: `${id}.0`,
    parent: null,
    prefixLength: 0,
    breakReason: null,
    tokens: {
      promptIds: Int32Array.from(promptIds),
      replyIds: Int32Array.from(replyIds),
      logprobs: Float32Array.from(replyIds, (_, at) => -0.1 * (at + 1)),
      versions: Int32Array.from(replyIds, () => 3),
    },
    sampling: { temperature: 1 },
    overridden: {},
    truncated: false,
    request: { model: "policy", messages: [{ role: "user", content: "hello" }] },
    response: {
      choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
      usage: { prompt_tokens: promptIds.length, completion_tokens: replyIds.length },
    },
    server: { model: "policy", endpoint: "engine", version: 3 },
    httpStatus: 200,
    finishReason: "stop",
    retryCount: 0,
    latencyMs: 12.5,
    timestamp: 1002.25,
    delivery: "pending",
    ...change,
  };
}
