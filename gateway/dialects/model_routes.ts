/** Model calls by the address that names an attempt, or by the key that does; one handler for every dialect. */
import type { Context } from "hono";
import type { RolloutMode } from "../../src/schema/wire.ts";
import type { Principal } from "../auth.ts";
import type { Answered } from "../calls/answered.ts";
import type { Caller } from "../calls/calls.ts";
import { decideForeignSampling, rewrittenBody } from "../calls/sampling_policy.ts";
import { type Gateway, pathParam } from "../context.ts";
import { readObject } from "../http/body.ts";
import { ApiError, asApiError } from "../http/errors.ts";
import type { Routes } from "../http/routes.ts";
import { requireLiveAttempt, requireOwnAttempt } from "../http/scope.ts";
import type { Dialect, ModelCall } from "./dialect.ts";
import { dialects, type ServedDialect } from "./registry.ts";
import { replyTo } from "./reply.ts";

/** Prefix of every dialect's paths that says whose call it is. */
export const attemptPrefix = "/r/:rollout_id/:attempt_id/:mode";

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

/** Answers by whoever serves the rollout. */
async function answer(
  gateway: Gateway,
  { dialect, upstreamPath }: ServedDialect,
  call: ModelCall,
  caller: Caller | null,
  signal: AbortSignal,
): Promise<Answered> {
  const { calls, config } = gateway;
  await calls.holdWhilePaused(signal);
  if (!caller) return await calls.runUnowned((own) => own.answer(dialect, call, null, signal));
  const server = await calls.serverFor(caller.identity.rolloutId);
  if (server?.kind === "own")
    return await calls.run(caller, (owner) => server.model.answer(dialect, call, owner, signal));
  if (!server) throw new ApiError(503, "no_model", `No servers available for model '${config.modelName}'`);
  if (upstreamPath === null) {
    throw new ApiError(
      400,
      "not_forwarded",
      `This rollout's calls go to a registered endpoint, which does not take ${dialect.name}. Call /v1/chat/completions.`,
    );
  }
  const { mode } = caller.identity;
  const decision = decideForeignSampling(call, mode, config);
  const { stream: _, stream_options: __, ...body } = rewrittenBody(call, config.modelName, decision);
  const wantsLogprobs = mode === "train" && config.includeLogProbs;
  const foreign = {
    dialect: dialect.name,
    path: upstreamPath,
    body: { ...body, return_token_ids: true, ...(wantsLogprobs ? { logprobs: true } : {}) },
    overridden: decision.overridden,
    sampling: { ...decision.sampling },
  };
  return await calls.run(caller, (owner) => calls.foreign.answer(server.endpoint, foreign, owner, signal));
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
    const call = dialect.read(await readObject(context.req.raw, gateway.config.limits.bodyBytes));
    const caller = await callerOf(context, gateway, principal);
    const work = answer(gateway, served, call, caller, gateway.calls.signalOf(context.req.raw));
    return await replyTo(dialect, call, work, gateway.deps, gateway.config);
  } catch (thrown) {
    return errorResponse(dialect, thrown, gateway);
  }
}

/** The one model, in the words of OpenAI's clients and in those of Anthropic's. */
function modelList(gateway: Gateway): object {
  const id = gateway.config.modelName;
  const created = Math.floor(gateway.now());
  const openAi = { id, object: "model", created, owned_by: "leyden" };
  const anthropic = { type: "model", display_name: id, created_at: new Date(created * 1000).toISOString() };
  return { object: "list", data: [{ ...openAi, ...anthropic }], has_more: false, first_id: id, last_id: id };
}

export function addModelCallRoutes(routes: Routes, gateway: Gateway): void {
  for (const served of dialects) {
    for (const prefix of ["", attemptPrefix]) {
      const path = `${prefix}${served.path}`;
      routes.add("POST", path, `Call the model (${served.dialect.name})`, (c) => handle(c, gateway, served));
    }
  }
  for (const prefix of ["", attemptPrefix]) {
    routes.add("GET", `${prefix}/v1/models`, "The models that answer", async (c) => {
      if (!(await gateway.principal(c))) {
        return Response.json(new ApiError(401, "invalid_api_key", "Invalid or missing API key").openAi(), {
          status: 401,
        });
      }
      return Response.json(modelList(gateway));
    });
  }
}
