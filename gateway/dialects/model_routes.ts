/** Model calls by the address that names an attempt, or by the key that does; one handler for every dialect. */
import type { Context } from "hono";
import type { RolloutMode } from "../../src/schema/wire.ts";
import type { Principal } from "../auth.ts";
import type { Caller } from "../calls/calls.ts";
import { type Gateway, pathParam, queryOf } from "../context.ts";
import { readObject } from "../http/body.ts";
import { ApiError, asApiError } from "../http/errors.ts";
import { attemptPrefix, type Routes } from "../http/routes.ts";
import { requireLiveAttempt, requireOwnAttempt } from "../http/scope.ts";
import { answerCall } from "./answer_call.ts";
import type { Dialect } from "./dialect.ts";
import { dialects, type ServedDialect } from "./registry.ts";
import { replyTo } from "./reply.ts";

interface Named {
  rolloutId: string;
  attemptId: string;
  /** Null: the rollout's own. */
  mode: RolloutMode | null;
}

/** Whose call the address says it is; null when it says nothing. */
function namedByPath(context: Context): Named | null {
  const mode = pathParam(context, "mode");
  if (mode === "") return null;
  if (mode !== "train" && mode !== "val") {
    throw new ApiError(404, "unknown_mode", `Unsupported mode: ${mode}. Use train or val.`);
  }
  return { rolloutId: pathParam(context, "rollout_id"), attemptId: pathParam(context, "attempt_id"), mode };
}

/** Whose call it is; null for the admin's own. @throws ApiError 403, 404, 409 */
export async function callerOf(context: Context, gateway: Gateway, principal: Principal): Promise<Caller | null> {
  const named = namedByPath(context) ?? (principal.kind === "agent" ? { ...principal, mode: null } : null);
  if (!named) return null;
  const { rolloutId, attemptId } = named;
  requireOwnAttempt(principal, rolloutId, attemptId);
  const rollout = await gateway.store.rollout(rolloutId);
  if (!rollout) throw new ApiError(404, "rollout_not_found", `Rollout not found: ${rolloutId}`);
  const mode = named.mode ?? (rollout.is_train ? "train" : "val");
  requireLiveAttempt(principal, rollout, mode);
  return { rollout, identity: { rolloutId, attemptId, mode } };
}

/** What a failed call is answered with; unforeseen faults are reported. */
export function errorResponse(dialect: Dialect, thrown: unknown, gateway: Gateway): Response {
  const error = asApiError(thrown);
  if (error.code === "internal") gateway.deps.report?.(thrown);
  return Response.json(dialect.error(error), { status: error.status, headers: error.headers });
}

async function handle(context: Context, gateway: Gateway, served: ServedDialect): Promise<Response> {
  const { dialect } = served;
  try {
    const principal = await gateway.principal(context);
    if (!principal) throw new ApiError(401, "invalid_api_key", "Invalid or missing API key");
    const body = await readObject(context.req.raw, gateway.config.limits.bodyBytes);
    const inPath = served.fromPath?.(pathParam(context, "call"), queryOf(context));
    const call = dialect.read(inPath ? { ...body, ...inPath } : body);
    const caller = await callerOf(context, gateway, principal);
    const work = answerCall(gateway, served, call, caller, gateway.calls.signalOf(context.req.raw));
    return await replyTo(dialect, call, work, gateway.deps, gateway.config);
  } catch (thrown) {
    return errorResponse(dialect, thrown, gateway);
  }
}

export function addModelCallRoutes(routes: Routes, gateway: Gateway): void {
  for (const served of dialects) {
    for (const path of served.paths) {
      for (const prefix of ["", attemptPrefix]) {
        const summary = `Call the model (${served.dialect.name})`;
        routes.add("POST", `${prefix}${path}`, summary, (c) => handle(c, gateway, served));
      }
    }
  }
}
