import type { CallRecord } from "../schema/store.ts";
import { eventTypes, type RolloutEvent } from "../schema/wire.ts";
import type { ModelRequestData } from "../schema/wire_proxy.ts";
import { withTokens } from "./token_places.ts";

function usageOf(response: unknown): Record<string, unknown> | null {
  const usage = (response as { usage?: unknown } | null)?.usage;
  return typeof usage === "object" && usage !== null && !Array.isArray(usage)
    ? (usage as Record<string, unknown>)
    : null;
}

/** A recorded call as the `model_request` event that Agent Lightning's trainer reads. */
export function callEvent(call: CallRecord): RolloutEvent {
  const data: ModelRequestData = {
    model: call.server.model,
    model_version: call.server.version,
    request: call.request,
    response: call.own ? withTokens(call.response, call.tokens) : call.response,
    server: call.server,
    latency_ms: call.latencyMs,
    http_status: call.httpStatus,
    status: call.httpStatus < 400 ? "ok" : "error",
    retry_count: call.retryCount,
    usage: usageOf(call.response),
    finish_reason: call.finishReason,
    call_id: call.id,
    call_key: call.callKey,
    mode: call.mode,
    parent_call: call.parent,
    prefix_length: call.prefixLength,
    break_reason: call.breakReason,
    overridden: call.overridden,
    truncated: call.truncated,
    ...(call.constrained === undefined ? {} : { constrained: call.constrained }),
    delivery: call.delivery,
  };
  return {
    event_type: eventTypes.modelRequest,
    rollout_id: call.rolloutId,
    attempt_id: call.attemptId,
    timestamp: call.timestamp,
    data: { ...data },
  };
}
