/** Calls answered by a registered endpoint. */
import { type Clock, type Entropy, hex } from "../../src/core/clock.ts";
import type { CallRecord, CallTokens } from "../../src/schema/store.ts";
import type { ModelEndpoint } from "../../src/schema/wire_proxy.ts";
import { type ForwardDeps, type Forwarded, forward } from "../agent_lightning/forward.ts";
import { tokensOfResponse } from "../agent_lightning/triplet.ts";
import type { JsonObject } from "../dialects/dialect.ts";
import { type Answered, unwatched } from "./answered.ts";
import { promptKey } from "./call_key.ts";
import type { Owner } from "./own_model.ts";
import type { Recorder } from "./recorder.ts";
import { finishReasonOf } from "./refusal.ts";

/** A call as it is sent to an endpoint. */
export interface ForeignCall {
  /** As recorded. */
  dialect: string;
  /** Path below the endpoint's base: "chat/completions". */
  path: string;
  body: JsonObject;
  overridden: JsonObject;
  sampling: JsonObject;
}

/** What forwarding takes. */
export interface ForeignModelDeps {
  clock: Clock;
  entropy: Entropy;
  recorder: Recorder;
  fetch: ForwardDeps["fetch"];
  timeoutMs: number;
}

function isIdList(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((id) => Number.isInteger(id) && id >= 0 && id < 2 ** 31);
}

/** The token ids an endpoint reported; empty when it reported none that could be ids. */
function tokensOf(response: unknown, version: number): CallTokens {
  const {
    prompt_token_ids: prompt,
    response_token_ids: reply,
    response_log_probs: logprobs,
  } = tokensOfResponse(response);
  const known = isIdList(prompt) && isIdList(reply);
  const promptIds = Int32Array.from(known ? prompt : []);
  const replyIds = Int32Array.from(known ? reply : []);
  return {
    promptIds,
    replyIds,
    logprobs: Float32Array.from(logprobs?.length === replyIds.length ? logprobs : []),
    versions: new Int32Array(replyIds.length).fill(version),
  };
}

/** Forwards calls and records what comes back. */
export class ForeignModel {
  private readonly deps: ForeignModelDeps;

  constructor(deps: ForeignModelDeps) {
    this.deps = deps;
  }

  /** The endpoint's answer, whatever its status, recorded. @throws UpstreamError, CancelledError, SyntaxError */
  async answer(endpoint: ModelEndpoint, call: ForeignCall, owner: Owner, signal: AbortSignal): Promise<Answered> {
    const startedAt = this.deps.clock.monotonic();
    const url = `${endpoint.endpoint.replace(/\/+$/, "")}/${call.path}`;
    const answer = await forward(this.deps, url, call.body, signal);
    const latencyMs = this.deps.clock.monotonic() - startedAt;
    const { status, body: json } = answer;
    if (status >= 400) {
      const refusal = { server: endpoint, request: call.body, response: json, httpStatus: status, latencyMs };
      await this.deps.recorder.recordRefusal(owner.identity, { ...refusal, retryCount: answer.retryCount });
      return { status, json, watch: unwatched };
    }
    const record = this.record(endpoint, call, owner, answer, latencyMs);
    await this.deps.recorder.record([record]);
    return { status, json, watch: this.deps.recorder.watch([record], owner.attempt) };
  }

  private record(
    endpoint: ModelEndpoint,
    call: ForeignCall,
    { identity, attempt }: Owner,
    answer: Forwarded,
    latencyMs: number,
  ): CallRecord {
    const tokens = tokensOf(answer.body, endpoint.version);
    const { messages, prompt } = call.body;
    const settings = tokens.promptIds.length > 0 ? call.sampling : { ...call.sampling, messages, prompt };
    return {
      id: hex(this.deps.entropy.bytes(12)),
      ...identity,
      dialect: call.dialect,
      policy: endpoint.model,
      own: false,
      callKey: attempt.claim(promptKey(endpoint.model, tokens.promptIds, settings)),
      parent: null,
      prefixLength: 0,
      breakReason: null,
      tokens,
      sampling: call.sampling,
      overridden: call.overridden,
      truncated: false,
      request: call.body,
      response: answer.body,
      server: endpoint,
      httpStatus: answer.status,
      finishReason: finishReasonOf(answer.body),
      retryCount: answer.retryCount,
      latencyMs,
      timestamp: this.deps.recorder.now(),
      delivery: "pending",
    };
  }
}
