/** Agent Lightning's model proxy. The order of its checks is part of the protocol. */
import type { Context } from "hono";
import type { RolloutMode } from "../../src/schema/wire.ts";
import type { ModelEndpoint } from "../../src/schema/wire_proxy.ts";
import type { Answered } from "../calls/answered.ts";
import { type Caller, PausedError } from "../calls/calls.ts";
import type { Owner, OwnModel } from "../calls/own_model.ts";
import { type Gateway, pathParam } from "../context.ts";
import type { JsonObject } from "../dialects/dialect.ts";
import { dialects } from "../dialects/registry.ts";
import { replyTo } from "../dialects/reply.ts";
import { readObject } from "../http/body.ts";
import { jsonReply } from "../http/delivery.ts";
import { ApiError, asApiError, DetailError } from "../http/errors.ts";
import type { Routes } from "../http/routes.ts";
import { requireLiveAttempt, requireOwnAttempt } from "../http/scope.ts";

const route = "/proxy/rollout/:rollout_id/attempt/:attempt_id/mode/:mode/openai/v1/:upstream_path{.+}";
const upstreamPaths = ["chat/completions", "completions"];

/** A call that has passed the checks before the choice of a server. */
interface ProxyCall {
  caller: Caller;
  path: string;
  body: JsonObject;
}

async function readProxyCall(context: Context, gateway: Gateway): Promise<ProxyCall> {
  const principal = await gateway.requirePrincipal(context);
  const rolloutId = pathParam(context, "rollout_id");
  const attemptId = pathParam(context, "attempt_id");
  const mode = pathParam(context, "mode");
  const path = pathParam(context, "upstream_path");
  requireOwnAttempt(principal, rolloutId, attemptId);
  if (mode !== "train" && mode !== "val") throw new DetailError(404, `Unsupported proxy mode: ${mode}`);
  if (!upstreamPaths.includes(path)) throw new DetailError(404, `Unsupported upstream path: ${path}`);
  const rollout = await gateway.requireRollout(rolloutId);
  requireLiveAttempt(principal, rollout, mode);
  return {
    caller: { rollout, identity: { rolloutId, attemptId, mode } },
    path,
    body: await readBody(context, gateway),
  };
}

async function readBody(context: Context, gateway: Gateway): Promise<JsonObject> {
  try {
    return await readObject(context.req.raw, gateway.config.limits.bodyBytes);
  } catch (thrown) {
    throw thrown instanceof ApiError ? new DetailError(thrown.status, thrown.message) : thrown;
  }
}

/** The agent's body with the fields that the gateway decides; all others pass. */
function rewritten(body: JsonObject, mode: RolloutMode, { config }: Gateway): JsonObject {
  return {
    ...body,
    model: config.modelName,
    temperature: mode === "train" ? config.trainTemperature : config.valTemperature,
    return_token_ids: true,
    ...(mode === "train" && config.includeLogProbs ? { logprobs: true } : {}),
  };
}

async function forwardCall(
  gateway: Gateway,
  { caller, path, body }: ProxyCall,
  endpoint: ModelEndpoint,
  signal: AbortSignal,
): Promise<Response> {
  if (body.stream) throw new DetailError(400, "Streaming responses are not supported");
  const sampling = { temperature: body.temperature };
  const dialect = path.replace("/", "_");
  const call = { dialect, path, body, overridden: {}, sampling };
  const { status, json, watch } = await gateway.calls.run(caller, (owner) =>
    gateway.calls.foreign.answer(endpoint, call, owner, signal),
  );
  return jsonReply(status, json, watch);
}

async function ownCall(
  gateway: Gateway,
  { caller, path, body }: ProxyCall,
  model: OwnModel,
  signal: AbortSignal,
): Promise<Response> {
  const served = dialects.find(({ upstreamPath }) => upstreamPath === path);
  if (!served)
    throw new ApiError(404, "unsupported_path", `The own model does not answer ${path}. Use chat/completions.`);
  const { dialect } = served;
  const call = dialect.read(body);
  // What the model refuses is recorded, as an upstream's refusal is.
  const answer = async (owner: Owner): Promise<Answered> => {
    try {
      return await model.answer(dialect, call, owner, signal);
    } catch (thrown) {
      const error = asApiError(thrown);
      if (error.status >= 499) throw thrown;
      return await gateway.calls.refuse(owner, body, error.status, dialect.error(error));
    }
  };
  return await replyTo(dialect, call, gateway.calls.run(caller, answer), gateway.deps, gateway.config);
}

function pausedResponse({ reason, headers }: PausedError): Response {
  return Response.json({ error: "gateway paused", reason }, { status: 429, headers });
}

export function addProxyRoute(routes: Routes, gateway: Gateway): void {
  const { calls, config } = gateway;
  routes.add("POST", route, "Call the model", async (c) => {
    const read = await readProxyCall(c, gateway);
    const { rolloutId, mode } = read.caller.identity;
    const server = await calls.serverFor(rolloutId);
    if (!server) throw new DetailError(503, `No servers available for model '${config.modelName}'`);
    const call = { ...read, body: rewritten(read.body, mode, gateway) };
    try {
      calls.refuseWhilePaused();
    } catch (thrown) {
      if (thrown instanceof PausedError) return pausedResponse(thrown);
      throw thrown;
    }
    const signal = calls.signalOf(c.req.raw);
    if (server.kind === "own") return await ownCall(gateway, call, server.model, signal);
    return await forwardCall(gateway, call, server.endpoint, signal);
  });
}
