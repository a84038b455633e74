/** Leyden's own additions for controllers and people; all take the admin's key. */
import { rolloutTree } from "../src/rl/trie/rollout_tree.ts";
import type { CallFailure, CallRecord, LogEntry } from "../src/schema/store.ts";
import { type Gateway, pathParam, queryOf } from "./context.ts";
import type { Routes } from "./http/routes.ts";
import { queryInteger } from "./http/validation.ts";

const longestWaitSeconds = 60;
const changesAtOnce = 1000;

type ChangeKind = "created" | "patched" | "deleted" | "activity";

function kindOf(type: LogEntry["type"]): ChangeKind {
  if (type === "rollout_created") return "created";
  if (type === "rollout_patched") return "patched";
  return type === "rollout_deleted" ? "deleted" : "activity";
}

function callSummary(call: CallRecord): Record<string, unknown> {
  return {
    id: call.id,
    attempt: call.attemptId,
    mode: call.mode,
    dialect: call.dialect,
    policy: call.policy,
    own: call.own,
    endpoint: call.server.endpoint,
    call_key: call.callKey,
    parent: call.parent,
    prefix: call.prefixLength,
    break: call.breakReason,
    ...(call.side === undefined ? {} : { side: call.side }),
    prompt_len: call.tokens.promptIds.length,
    reply_len: call.tokens.replyIds.length,
    finish_reason: call.finishReason,
    overridden: call.overridden,
    delivery: call.delivery,
    latency_ms: call.latencyMs,
    timestamp: call.timestamp,
  };
}

function failureSummary(failure: CallFailure): Record<string, unknown> {
  return {
    attempt: failure.attemptId,
    code: failure.code,
    message: failure.message,
    http_status: failure.httpStatus,
    latency_ms: failure.latencyMs,
    retry_count: failure.retryCount,
    timestamp: failure.timestamp,
  };
}

/** Until the store goes past the cursor, the time is up, or the client is gone. */
async function waitForChange(gateway: Gateway, after: number, seconds: number, signal: AbortSignal): Promise<void> {
  const { store, deps } = gateway;
  const timer = new AbortController();
  const ends = AbortSignal.any([signal, timer.signal]);
  const ignore = () => {};
  await Promise.race([store.changed(after, ends).catch(ignore), deps.clock.sleep(seconds * 1000, ends).catch(ignore)]);
  timer.abort();
}

export function addAdminRoutes(routes: Routes, gateway: Gateway): void {
  const { store } = gateway;

  routes.add(
    "POST",
    "/api/rollouts/:rollout_id/attempt/:attempt_id/key",
    "The key of an attempt's agent",
    async (c) => {
      await gateway.requireAdmin(c);
      const { rollout_id: rolloutId } = await gateway.requireRollout(pathParam(c, "rollout_id"));
      return Response.json({ key: await gateway.keys.issue({ rolloutId, attemptId: pathParam(c, "attempt_id") }) });
    },
  );

  routes.add("GET", "/api/rollouts/:rollout_id/calls", "What was recorded of a rollout's calls", async (c) => {
    await gateway.requireAdmin(c);
    const { rollout_id: rolloutId } = await gateway.requireRollout(pathParam(c, "rollout_id"));
    const calls = (await store.calls(rolloutId)).map(callSummary);
    const failures = (await store.failures(rolloutId)).map(failureSummary);
    return Response.json({ rollout: rolloutId, calls, failures });
  });

  routes.add("GET", "/api/rollouts/:rollout_id/tree", "The prefix tree of a rollout's calls", async (c) => {
    await gateway.requireAdmin(c);
    const { rollout_id: rolloutId } = await gateway.requireRollout(pathParam(c, "rollout_id"));
    return Response.json(rolloutTree(rolloutId, await store.calls(rolloutId)));
  });

  routes.add("GET", "/api/changes", "What happened to rollouts after a cursor; waits for it", async (c) => {
    await gateway.requireAdmin(c);
    const query = queryOf(c);
    const after = queryInteger(query, "after", -1);
    if (after < 0) return Response.json({ cursor: await store.seq(), changes: [] });
    const waitSeconds = Math.min(longestWaitSeconds, Math.max(0, queryInteger(query, "wait_seconds", 0)));
    if (waitSeconds > 0) await waitForChange(gateway, after, waitSeconds, gateway.calls.signalOf(c.req.raw));
    const entries = await store.log(after, changesAtOnce);
    const changes = entries
      .filter((entry) => entry.type !== "experiment")
      .map((entry) => ({ rollout_id: entry.rolloutId, kind: kindOf(entry.type) }));
    return Response.json({ cursor: entries.at(-1)?.seq ?? after, changes });
  });
}
