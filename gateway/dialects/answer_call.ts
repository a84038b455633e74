/** A call answered by whoever serves the model it asks for. */
import type { Answered } from "../calls/answered.ts";
import type { Caller, Server } from "../calls/calls.ts";
import type { Owner } from "../calls/own_model.ts";
import { decideForeignSampling, rewrittenBody } from "../calls/sampling_policy.ts";
import { answerTranslated } from "../calls/translated_call.ts";
import type { Gateway } from "../context.ts";
import { ApiError } from "../http/errors.ts";
import type { ModelCall } from "./dialect.ts";
import type { ServedDialect } from "./registry.ts";

type Endpoint = Extract<Server, { kind: "endpoint" }>;

/** By a registered endpoint: as it came where that speaks the dialect, else as a chat completion. */
function forwarded(
  gateway: Gateway,
  { dialect, upstreamPath }: ServedDialect,
  call: ModelCall,
  owner: Owner | null,
  { endpoint, isPolicy }: Endpoint,
  signal: AbortSignal,
): Promise<Answered> {
  const { calls, config } = gateway;
  const mode = isPolicy ? (owner?.identity.mode ?? null) : null;
  const decision = decideForeignSampling(call, mode, config);
  const wantsLogprobs = mode === "train" && config.includeLogProbs;
  const { temperature } = decision.sampling;
  // Any other server's model gets what the harness asked for and nothing that it may not know.
  const extra = isPolicy ? { temperature, return_token_ids: true, ...(wantsLogprobs ? { logprobs: true } : {}) } : {};
  if (upstreamPath === null) {
    return answerTranslated(calls, endpoint, dialect, call, owner, { decision, extra }, signal);
  }
  const whole = isPolicy ? rewrittenBody(call, endpoint.model, decision) : { ...call.body, model: endpoint.model };
  const { stream: _, stream_options: __, ...body } = whole;
  const foreign = {
    dialect: dialect.name,
    path: upstreamPath,
    body: { ...body, ...extra },
    overridden: decision.overridden,
    sampling: { ...decision.sampling, ...decision.adjustments },
  };
  return calls.foreign.answer(endpoint, foreign, owner, signal);
}

/** The answer to a call, recorded when it is a rollout's. @throws ApiError, CancelledError, UpstreamError */
export async function answerCall(
  gateway: Gateway,
  served: ServedDialect,
  call: ModelCall,
  caller: Caller | null,
  signal: AbortSignal,
): Promise<Answered> {
  const { calls, config } = gateway;
  await calls.holdWhilePaused(signal);
  const server = await calls.serverFor(caller?.identity.rolloutId ?? "", call.model);
  if (!server) throw new ApiError(503, "no_model", `No servers available for model '${config.modelName}'`);
  const answer = (owner: Owner | null) =>
    server.kind === "own"
      ? server.model.answer(served.dialect, call, owner, signal)
      : forwarded(gateway, served, call, owner, server, signal);
  return caller ? await calls.run(caller, answer) : await calls.runUnowned(() => answer(null));
}
