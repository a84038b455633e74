/** Calls answered by the own model. */
import { type Clock, type Entropy, hex } from "../../src/core/clock.ts";
import { CancelledError } from "../../src/core/errors.ts";
import type { RngKey } from "../../src/core/rng.ts";
import type { ChatRequest, EncodedPrompt, ParsedReply } from "../../src/schema/chat.ts";
import type { GenerateResult } from "../../src/schema/engine.ts";
import type { CallRecord } from "../../src/schema/store.ts";
import type { GatewayConfig } from "../config.ts";
import type { ServedModel } from "../deps.ts";
import type { Answer, Dialect, ModelCall, Reply } from "../dialects/dialect.ts";
import { ContextLengthExceeded } from "../http/errors.ts";
import { type Answered, unwatched } from "./answered.ts";
import { Attempt } from "./attempt.ts";
import { promptKey, streamKey, toolCallId } from "./call_key.ts";
import type { Identity } from "./identity.ts";
import type { Recorder } from "./recorder.ts";
import { decideSampling, rewrittenBody, type SamplingDecision } from "./sampling_policy.ts";
import { finishOf, obeyScript, type ScriptedDraw, scriptedDraw, withScriptedIds } from "./scripted_draw.ts";

/** Whose call it is, and what is known of their attempt. */
export interface Owner {
  identity: Identity;
  attempt: Attempt;
}

/** One reply to be drawn. */
interface Draw {
  id: string;
  callKey: string;
  stream: RngKey;
  /** Null where the model draws by itself. */
  scripted: ScriptedDraw | null;
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
  prompt: EncodedPrompt;
  decision: SamplingDecision;
  maxTokens: number;
  draws: Draw[];
  startedAt: number;
}

/** What answering calls takes. */
export interface OwnModelDeps {
  model: ServedModel;
  config: GatewayConfig;
  clock: Clock;
  entropy: Entropy;
  recorder: Recorder;
}

/** Sends prompts to the engine and makes answers of what it draws. */
export class OwnModel {
  private readonly deps: OwnModelDeps;
  private contextLength: Promise<number> | null = null;

  constructor(deps: OwnModelDeps) {
    this.deps = deps;
  }

  /**
   * The answer, recorded when the call belongs to an attempt.
   * @throws ApiError "context_length_exceeded"; CancelledError when the signal fires; what engine and store throw
   */
  async answer(dialect: Dialect, asked: ModelCall, owner: Owner | null, signal: AbortSignal): Promise<Answered> {
    const { config, model, recorder } = this.deps;
    const prepared = await this.prepare(dialect, asked, owner);
    const { call } = prepared;
    try {
      const replies = await this.drawAll(prepared, signal);
      const answer: Answer = {
        id: prepared.draws[0]?.id ?? "",
        created: Math.floor(recorder.now()),
        model: config.modelName,
        replies: replies.map(({ reply }) => reply),
        tokenText: (id) => model.tokenText(id),
        // A prompt may have tens of thousands of ids: a stream shows them when asked only.
        showTokenIds: call.tokenIds ?? (config.includeTokenIds && !call.stream),
      };
      const json = dialect.write(answer, call);
      if (!owner) return { status: 200, json, watch: unwatched };
      const records = await this.record(prepared, owner, replies, answer);
      return { status: 200, json, watch: recorder.watch(records, owner.attempt) };
    } catch (thrown) {
      for (const { callKey } of prepared.draws) prepared.attempt.release(callKey);
      throw thrown;
    }
  }

  /** Where replies come from, as records name it. */
  private get endpoint(): string {
    const { policy, script } = this.deps.model;
    return policy ?? (script === undefined ? "engine" : "script");
  }

  /** How many tokens the prompt of a request has; `attempt` holds the calls it may continue. */
  countTokens(chat: ChatRequest, attempt: Attempt | null): number {
    return this.deps.model.codec.encodeRequest(chat, attempt?.recorded ?? []).ids.length;
  }

  private async prepare(dialect: Dialect, asked: ModelCall, owner: Owner | null): Promise<Prepared> {
    const { clock, config, model } = this.deps;
    const startedAt = clock.monotonic();
    const attempt = owner?.attempt ?? new Attempt();
    const call = dialect.resolve?.(asked, attempt) ?? asked;
    this.contextLength ??= model.engine.info().then((info) => info.contextLength);
    const contextLength = await this.contextLength;
    const prompt = model.codec.encodeRequest(call.chat, attempt.recorded);
    const room = contextLength - prompt.ids.length;
    if (room < 1) throw new ContextLengthExceeded(contextLength, prompt.ids.length);
    const decision = decideSampling(call, owner?.identity.mode ?? null, config);
    const maxTokens = Math.min(call.maxTokens ?? room, room);
    const key = promptKey(config.modelName, prompt.ids, { ...decision.sampling, maxTokens, stop: call.stop });
    const draws = Array.from({ length: call.n }, () => {
      const id = hex(this.deps.entropy.bytes(12));
      const callKey = attempt.claim(key);
      const scripted = scriptedDraw(model, owner?.identity.rolloutId ?? "", call.chat);
      return { id, callKey, stream: this.stream(owner, call, id, callKey), scripted };
    });
    return { dialect, call, attempt, prompt, decision, maxTokens, draws, startedAt };
  }

  /** Without an attempt a call is like no other, unless it brings a seed. */
  private stream(owner: Owner | null, call: ModelCall, id: string, callKey: string): RngKey {
    const { seed } = call.body;
    const name = owner?.identity.rolloutId ?? (Number.isInteger(seed) ? `seed ${seed}` : id);
    return streamKey(this.deps.config.seed, name, callKey);
  }

  /** All siblings, or none: a failure ends the others. */
  private async drawAll(prepared: Prepared, signal: AbortSignal): Promise<Drawn[]> {
    const stop = new AbortController();
    const end = () => stop.abort();
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
    const { engine, codec } = this.deps.model;
    const { call, prompt, decision, maxTokens } = prepared;
    const { scripted } = draw;
    await obeyScript(scripted, this.deps.clock, signal);
    const cancel = () => void engine.cancel(draw.id);
    signal.addEventListener("abort", cancel, { once: true });
    try {
      const result = await engine.generate({
        id: draw.id,
        promptIds: prompt.ids,
        maxTokens: Math.min(maxTokens, scripted?.forcedIds.length ?? maxTokens),
        sampling: decision.sampling,
        ...(scripted === null ? {} : { forcedIds: scripted.forcedIds }),
        key: draw.stream,
        stopIds: codec.stopIds,
        stopStrings: call.stop,
      });
      if (signal.aborted || result.finishReason === "cancelled") throw new CancelledError("A call");
      return { draw, result, reply: this.reply(draw, prepared, result, finishOf(result, scripted)) };
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  }

  private reply(
    draw: Draw,
    { dialect, call, prompt }: Prepared,
    result: GenerateResult,
    finishReason: "stop" | "length",
  ): Reply {
    const { ids: replyIds, logprobs, versions, cachedTokens } = result;
    const whole = this.deps.model.codec.parseReply(replyIds, call.chat.templateArgs);
    const stopString = typeof result.stopped === "string" ? result.stopped : null;
    const parsed = stopString === null ? whole : cutAtStop(whole, stopString);
    const shown = call.chat.tools ? parsed : withoutCalls(parsed);
    const toolCalls = shown.toolCalls.map((found, index) => ({
      id: toolCallId(dialect.toolCallPrefix, draw.stream, index),
      type: "function" as const,
      function: { name: found.name, arguments: found.arguments },
    }));
    const tokens = { promptIds: prompt.ids, replyIds, logprobs, versions };
    return {
      tokens,
      parsed: shown,
      toolCalls: withScriptedIds(toolCalls, draw.scripted),
      finishReason,
      stopString,
      cachedTokens,
    };
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
    for (const { id, response, tokens, parent, prefixLength } of records) {
      const { promptIds, replyIds } = tokens;
      const recorded = { id, request: call.chat, reply: dialect.replyMessage(response), promptIds, replyIds };
      attempt.remember(recorded, parent, prefixLength, call.instructions);
    }
    return records;
  }

  private facts(
    { dialect, call, prompt, decision, maxTokens, startedAt }: Prepared,
    { draw, reply, result }: Drawn,
  ): Omit<CallRecord, keyof Identity | "response" | "finishReason"> {
    const { clock, config, recorder } = this.deps;
    return {
      id: draw.id,
      dialect: dialect.name,
      policy: config.modelName,
      own: true,
      callKey: draw.callKey,
      parent: prompt.parentCall,
      prefixLength: prompt.prefixLength,
      breakReason: prompt.break,
      tokens: reply.tokens,
      sampling: { ...decision.sampling, max_tokens: maxTokens, stop: call.stop },
      overridden: decision.overridden,
      truncated: result.truncated,
      request: rewrittenBody(call, config.modelName, decision),
      server: { model: config.modelName, endpoint: this.endpoint, version: result.versions.at(-1) ?? 0 },
      httpStatus: 200,
      retryCount: 0,
      latencyMs: clock.monotonic() - startedAt,
      timestamp: recorder.now(),
      delivery: "pending",
    };
  }
}

/** The reply without the stop text and what follows it, as OpenAI's clients expect. */
function cutAtStop(parsed: ParsedReply, stop: string): ParsedReply {
  const cut = (text: string | null) => {
    const at = text?.indexOf(stop) ?? -1;
    return text === null || at < 0 ? text : text.slice(0, at);
  };
  return { ...parsed, content: cut(parsed.content), reasoningContent: cut(parsed.reasoningContent) };
}

/** A reply to a request without tools: what looks like a call is text. */
function withoutCalls(parsed: ParsedReply): ParsedReply {
  if (parsed.toolCalls.length === 0) return parsed;
  return { ...parsed, content: parsed.text, reasoningContent: null, toolCalls: [] };
}
