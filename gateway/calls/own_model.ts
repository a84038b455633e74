/** Calls answered by a model of our own. */
import { type Clock, type Entropy, hex } from "../../src/core/clock.ts";
import { CancelledError } from "../../src/core/errors.ts";
import type { RngKey } from "../../src/core/rng.ts";
import type { ChatRequest, EncodedPrompt } from "../../src/schema/chat.ts";
import type { GenerateResult } from "../../src/schema/engine.ts";
import type { CallRecord } from "../../src/schema/store.ts";
import type { ConstraintSpec } from "../../src/schema/token_constraint.ts";
import { unfollowedParts } from "../../src/text/grammar/unfollowed.ts";
import type { GatewayConfig } from "../config.ts";
import type { ServedModel } from "../deps.ts";
import type { Answer, Dialect, ModelCall, RawPrompt, Reply } from "../dialects/dialect.ts";
import { constraintOf } from "../dialects/reply_form.ts";
import { resolvedCall } from "../dialects/resolve_call.ts";
import { ContextLengthExceeded } from "../http/errors.ts";
import { type Answered, unwatched } from "./answered.ts";
import { Attempt } from "./attempt.ts";
import { promptKey, streamKey } from "./call_key.ts";
import { chatPrompt } from "./chat_prompt.ts";
import { type Draw, drawnReply } from "./drawn_reply.ts";
import type { Identity } from "./identity.ts";
import { encodeRaw } from "./raw_prompt.ts";
import type { Recorder } from "./recorder.ts";
import { decideSampling, rewrittenBody, type SamplingDecision } from "./sampling_policy.ts";
import { obeyScript, scriptedDraw } from "./scripted_draw.ts";
import { SideRules } from "./side_rules.ts";

/** Whose call it is, and what is known of their attempt. */
export interface Owner {
  identity: Identity;
  attempt: Attempt;
}

/** A reply that was drawn. */
interface Drawn {
  draw: Draw;
  result: GenerateResult;
  reply: Reply;
}

/** A call on its way: everything decided before the first token. */
interface Prepared {
  dialect: Dialect;
  call: ModelCall;
  attempt: Attempt;
  decision: SamplingDecision;
  constraint: ConstraintSpec | null;
  draws: Draw[];
  startedAt: number;
}

/** What answering calls takes. */
export interface OwnModelDeps {
  model: ServedModel;
  /** Its name in replies and records. */
  name: string;
  /** True for the policy; calls to any other model are never trained, and sampled as the harness asks. */
  isPolicy: boolean;
  config: GatewayConfig;
  clock: Clock;
  entropy: Entropy;
  recorder: Recorder;
}

/** Sends prompts to the engine and makes answers of what it draws. */
export class OwnModel {
  private readonly deps: OwnModelDeps;
  private readonly sideRules: SideRules;
  private contextLength: Promise<number> | null = null;

  constructor(deps: OwnModelDeps) {
    this.deps = deps;
    this.sideRules = new SideRules(deps.config.sideCalls);
  }

  /**
   * The answer, recorded when the call belongs to an attempt.
   * @throws ApiError "context_length_exceeded"; CancelledError when the signal fires; what engine and store throw
   */
  async answer(dialect: Dialect, asked: ModelCall, owner: Owner | null, signal: AbortSignal): Promise<Answered> {
    const { config, model, recorder, name } = this.deps;
    const prepared = await this.prepare(dialect, asked, owner);
    const { call } = prepared;
    try {
      const replies = await this.drawAll(prepared, signal);
      const answer: Answer = {
        id: prepared.draws[0]?.id ?? "",
        created: Math.floor(recorder.now()),
        model: name,
        replies: replies.map(({ reply }) => reply),
        tokenText: (id) => model.tokenText(id),
        tokenBytes: (id) => model.tokenBytes?.(id) ?? new TextEncoder().encode(model.tokenText(id)),
        // A prompt may have tens of thousands of ids: a stream shows them when asked only.
        showTokenIds: call.tokenIds ?? (config.includeTokenIds && !call.stream),
      };
      const json = dialect.write(answer, call);
      const version = replies.at(-1)?.result.versions.at(-1);
      const made = { status: 200, json, ...(version === undefined ? {} : { version }) };
      if (!owner) return { ...made, watch: unwatched };
      const records = await this.record(prepared, owner, replies, answer);
      return { ...made, watch: recorder.watch(records, owner.attempt) };
    } catch (thrown) {
      for (const { callKey } of prepared.draws) prepared.attempt.release(callKey);
      throw thrown;
    }
  }

  /** Prompt and reply together, in tokens, at most. */
  async context(): Promise<number> {
    this.contextLength ??= this.deps.model.engine.info().then((info) => info.contextLength);
    return await this.contextLength;
  }

  /** How many tokens the prompt of a request has; `attempt` holds the calls it may continue. */
  async countTokens(chat: ChatRequest, attempt: Attempt | null): Promise<number> {
    const { model, name } = this.deps;
    return (await chatPrompt(chat, attempt ?? new Attempt(), name, model)).prompt.ids.length;
  }

  /** Where replies come from, as records name it. */
  private get endpoint(): string {
    const { policy, script } = this.deps.model;
    return policy ?? (script === undefined ? "engine" : "script");
  }

  private async prepare(dialect: Dialect, read: ModelCall, owner: Owner | null): Promise<Prepared> {
    const { clock, config, isPolicy } = this.deps;
    const startedAt = clock.monotonic();
    const attempt = owner?.attempt ?? new Attempt();
    const asked = resolvedCall(dialect, read, attempt);
    const { call, prompts } = await this.encode(asked, attempt);
    const thinkingEnd = this.deps.model.codec.thinkingEnd(call.chat.templateArgs);
    const constraint = constraintOf(call.form, call.chat.tools ?? null, thinkingEnd);
    const decision = decideSampling(call, isPolicy ? (owner?.identity.mode ?? null) : null, config);
    const prepared: Prepared = { dialect, call, attempt, decision, constraint, draws: [], startedAt };
    const contextLength = await this.context();
    for (const { ids } of prompts) {
      if (contextLength <= ids.length) throw new ContextLengthExceeded(contextLength, ids.length);
    }
    for (const [at, prompt] of prompts.entries()) {
      this.claim(prepared, prompt, call.prompts?.[at] ?? null, contextLength - prompt.ids.length, owner);
    }
    return prepared;
  }

  /** The prompts of a call, and the call with what it shares with the one it continues. */
  private async encode(call: ModelCall, attempt: Attempt): Promise<{ call: ModelCall; prompts: EncodedPrompt[] }> {
    const { model, name } = this.deps;
    if (call.prompts) {
      const raw = attempt.rawCalls(name);
      return { call, prompts: await Promise.all(call.prompts.map((prompt) => encodeRaw(prompt, raw, model))) };
    }
    const { chat, prompt } = await chatPrompt(call.chat, attempt, name, model);
    return { call: { ...call, chat }, prompts: [prompt] };
  }

  /** Adds the draws of a prompt that leaves `room` tokens. */
  private claim(
    prepared: Prepared,
    prompt: EncodedPrompt,
    raw: RawPrompt | null,
    room: number,
    owner: Owner | null,
  ): void {
    const { model, name, entropy } = this.deps;
    const { call, attempt, decision, constraint } = prepared;
    const maxTokens = Math.min(call.maxTokens ?? room, room);
    const settings = {
      ...decision.sampling,
      ...decision.adjustments,
      maxTokens,
      stop: call.stop,
      ...(constraint ? { constraint } : {}),
    };
    const key = promptKey(name, attempt.hashOf(name, prompt), settings);
    for (let sibling = 0; sibling < call.n; sibling++) {
      const id = hex(entropy.bytes(12));
      const callKey = attempt.claim(key);
      const scripted = scriptedDraw(model, owner?.identity.rolloutId ?? "", call.chat);
      const stream = this.stream(owner, call, id, callKey);
      prepared.draws.push({ id, callKey, stream, prompt, raw, maxTokens, scripted });
    }
  }

  /** Without an attempt a call is like no other, unless it brings a seed. */
  private stream(owner: Owner | null, { ignored }: ModelCall, id: string, callKey: string): RngKey {
    const { seed } = ignored;
    const name = owner?.identity.rolloutId ?? (Number.isInteger(seed) ? `seed ${seed}` : id);
    return streamKey(this.deps.config.seed, name, callKey);
  }

  /** All siblings, or none: a failure ends the others. */
  private async drawAll(prepared: Prepared, signal: AbortSignal): Promise<Drawn[]> {
    const stop = new AbortController();
    // A reason of its own: without one each call would make an exception with a stack.
    const end = () => stop.abort("ended");
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
    try {
      return await Promise.all(prepared.draws.map((draw) => this.draw(draw, prepared, stop.signal)));
    } finally {
      end();
      signal.removeEventListener("abort", end);
    }
  }

  private async draw(draw: Draw, prepared: Prepared, signal: AbortSignal): Promise<Drawn> {
    const { model, clock } = this.deps;
    const { dialect, call, decision, constraint } = prepared;
    const { scripted, maxTokens } = draw;
    await obeyScript(scripted, clock, signal);
    const cancel = () => void model.engine.cancel(draw.id);
    signal.addEventListener("abort", cancel, { once: true });
    try {
      const result = await model.engine.generate({
        id: draw.id,
        promptIds: draw.prompt.ids,
        maxTokens: Math.min(maxTokens, scripted?.forcedIds.length ?? maxTokens),
        sampling: decision.sampling,
        ...(Object.keys(decision.adjustments).length === 0 ? {} : { adjustments: decision.adjustments }),
        ...(scripted === null ? {} : { forcedIds: scripted.forcedIds }),
        ...(call.topLogprobs === 0 ? {} : { topLogprobs: call.topLogprobs }),
        ...(constraint === null || scripted !== null ? {} : { constraint }),
        key: draw.stream,
        stopIds: model.codec.stopIds,
        stopStrings: call.stop,
      });
      if (signal.aborted || result.finishReason === "cancelled") throw new CancelledError("A call");
      return { draw, result, reply: drawnReply(model, dialect, call, draw, result) };
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  }

  private async record(
    prepared: Prepared,
    { identity, attempt }: Owner,
    drawn: readonly Drawn[],
    answer: Answer,
  ): Promise<CallRecord[]> {
    const { dialect, call } = prepared;
    const records = drawn.map((one): CallRecord => {
      // Ids are in the record's tokens; the reply need not repeat them.
      const response = dialect.write({ ...answer, replies: [one.reply], showTokenIds: false }, call);
      return { ...identity, ...this.facts(prepared, one), response, finishReason: dialect.finishReason(response) };
    });
    await this.deps.recorder.record(records);
    for (const [at, { id, policy, response, tokens, parent, prefixLength }] of records.entries()) {
      const reply = dialect.replyMessage(response);
      const prompt = drawn[at]?.draw.raw ?? null;
      const isReferable = dialect.resolve !== undefined;
      attempt.remember({ id, policy, call, reply, prompt, ...tokens, parent, prefixLength, isReferable });
    }
    return records;
  }

  /** Settings as used; what was asked of the reply's form counts as overridden where no grammar saw to it. */
  private decided({ call, constraint, decision }: Prepared, { result }: Drawn): SamplingDecision {
    const left = constraint && result.constrained ? unfollowedParts(constraint) : [];
    const fields = result.constrained ? (left.length > 0 ? { schema_keywords: left } : {}) : call.form.fields;
    return { ...decision, overridden: { ...decision.overridden, ...fields } };
  }

  private facts(prepared: Prepared, drawn: Drawn): Omit<CallRecord, keyof Identity | "response" | "finishReason"> {
    const { clock, name, isPolicy, recorder, model } = this.deps;
    const { dialect, call, startedAt } = prepared;
    const { draw, reply, result } = drawn;
    const decision = this.decided(prepared, drawn);
    const body = rewrittenBody(call, name, decision);
    const side = isPolicy ? this.sideRules.match(call.chat, call.model) : null;
    return {
      id: draw.id,
      dialect: dialect.name,
      policy: name,
      own: isPolicy && model.policy !== "null",
      callKey: draw.callKey,
      parent: draw.prompt.parentCall,
      prefixLength: draw.prompt.prefixLength,
      breakReason: draw.prompt.break,
      ...(side === null ? {} : { side }),
      tokens: reply.tokens,
      sampling: { ...decision.sampling, ...decision.adjustments, max_tokens: draw.maxTokens, stop: call.stop },
      overridden: decision.overridden,
      truncated: result.truncated,
      ...(result.constrained === undefined ? {} : { constrained: result.constrained }),
      request: draw.raw === null ? body : { ...body, prompt: draw.raw },
      server: { model: name, endpoint: this.endpoint, version: result.versions.at(-1) ?? 0 },
      httpStatus: 200,
      retryCount: 0,
      latencyMs: clock.monotonic() - startedAt,
      timestamp: recorder.now(),
      delivery: "pending",
    };
  }
}
