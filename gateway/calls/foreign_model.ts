/** Calls answered by a registered endpoint. */
import { type Clock, type Entropy, hex } from "../../src/core/clock.ts";
import type { CallRecord, CallTokens } from "../../src/schema/store.ts";
import type { ModelEndpoint } from "../../src/schema/wire_proxy.ts";
import { type ForwardDeps, type Forwarded, forward } from "../agent_lightning/forward.ts";
import { tokensOfResponse } from "../agent_lightning/triplet.ts";
import type { JsonObject } from "../dialects/dialect.ts";
import { type Answered, unwatched } from "./answered.ts";
import { emptyHash, hashOn, promptKey } from "./call_key.ts";
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

/** What an endpoint answered, and how long that took. */
export interface ForeignAnswer extends Forwarded {
  latencyMs: number;
}

/** The facts of a recorded call that do not depend on its dialect. */
export interface ForeignRecord {
  id: string;
  request: JsonObject;
  response: unknown;
  finishReason: string | null;
}

function isIdList(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((id) => Number.isInteger(id) && id >= 0 && id < 2 ** 31);
}

/** The token ids an endpoint reported; empty when it reported none that could be ids. */
export function tokensOf(response: unknown, version: number): CallTokens {
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

/** One JSON reply per choice; the one itself when it has no more. */
export function siblings(response: unknown): unknown[] {
  const choices = (response as { choices?: unknown } | null)?.choices;
  if (!Array.isArray(choices) || choices.length < 2) return [response];
  return choices.map((choice: unknown) => ({ ...(response as JsonObject), choices: [choice] }));
}

/** Forwards calls and records what comes back. */
export class ForeignModel {
  private readonly deps: ForeignModelDeps;

  constructor(deps: ForeignModelDeps) {
    this.deps = deps;
  }

  /** What the endpoint answers, whatever its status. @throws UpstreamError, CancelledError, SyntaxError */
  async ask(endpoint: ModelEndpoint, call: ForeignCall, signal: AbortSignal): Promise<ForeignAnswer> {
    const startedAt = this.deps.clock.monotonic();
    const url = `${endpoint.endpoint.replace(/\/+$/, "")}/${call.path}`;
    const answer = await forward(this.deps, url, call.body, signal);
    return { ...answer, latencyMs: this.deps.clock.monotonic() - startedAt };
  }

  /** The endpoint's answer as it is, recorded: every choice as a call of its own, siblings under one prompt. */
  async answer(
    endpoint: ModelEndpoint,
    call: ForeignCall,
    owner: Owner | null,
    signal: AbortSignal,
  ): Promise<Answered> {
    const answer = await this.ask(endpoint, call, signal);
    if (answer.status >= 400 || !owner) return await this.refused(endpoint, call, answer, owner);
    const records = siblings(answer.body).map((response) => {
      const facts = { id: this.newId(), request: call.body, response, finishReason: finishReasonOf(response) };
      return this.record(endpoint, call, owner, answer, facts);
    });
    await this.deps.recorder.record(records);
    return { status: answer.status, json: answer.body, watch: this.deps.recorder.watch(records, owner.attempt) };
  }

  /** An answer that is passed on without tokens to record: an error, which the attempt's events show, or nobody's. */
  async refused(
    endpoint: ModelEndpoint,
    { body: request }: ForeignCall,
    { status, body: json, latencyMs, retryCount }: ForeignAnswer,
    owner: Owner | null,
  ): Promise<Answered> {
    if (owner) {
      const refusal = { server: endpoint, request, response: json, httpStatus: status, latencyMs, retryCount };
      await this.deps.recorder.recordRefusal(owner.identity, refusal);
    }
    return { status, json, watch: unwatched };
  }

  newId(): string {
    return hex(this.deps.entropy.bytes(12));
  }

  /** A call as it is recorded; `raw` is the endpoint's own JSON of this one choice. */
  record(
    endpoint: ModelEndpoint,
    call: ForeignCall,
    { identity, attempt }: Owner,
    answer: ForeignAnswer,
    facts: ForeignRecord,
    raw: unknown = facts.response,
  ): CallRecord {
    const tokens = tokensOf(raw, endpoint.version);
    const { messages, prompt } = call.body;
    const settings = tokens.promptIds.length > 0 ? call.sampling : { ...call.sampling, messages, prompt };
    return {
      ...identity,
      ...facts,
      dialect: call.dialect,
      policy: endpoint.model,
      own: false,
      callKey: attempt.claim(promptKey(endpoint.model, hashOn(emptyHash, tokens.promptIds), settings)),
      parent: null,
      prefixLength: 0,
      breakReason: null,
      tokens,
      sampling: call.sampling,
      overridden: call.overridden,
      truncated: false,
      server: endpoint,
      httpStatus: answer.status,
      retryCount: answer.retryCount,
      latencyMs: answer.latencyMs,
      timestamp: this.deps.recorder.now(),
      delivery: "pending",
    };
  }
}
