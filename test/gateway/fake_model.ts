/** A model for tests of the gateway alone: tokens are UTF-16 code units, replies are written by the test. */
import type { ServedModel } from "../../gateway/deps.ts";
import { LeydenError } from "../../src/core/errors.ts";
import type { ChatMessage, ChatRequest, EncodedPrompt, ParsedReply, RecordedCall } from "../../src/schema/chat.ts";
import type { Engine, GenerateRequest, GenerateResult } from "../../src/schema/engine.ts";
import type { ChatCodec } from "../../src/text/chat_format.ts";
import { messageText } from "../../src/text/message_text.ts";

/** The id that ends a reply. */
const stopId = 0;

function textOf(message: ChatMessage): string {
  const { content, tool_calls: calls } = message;
  // Refuses what the real one refuses.
  messageText(message);
  const text = typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join("");
  const called = (calls ?? []).map((call) => `<call>${call.function.name} ${call.function.arguments}</call>`).join("");
  return text + called;
}

function codes(text: string): number[] {
  return Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
}

function decode(ids: ArrayLike<number>): string {
  return Array.from(ids, (id) => (id === stopId ? "" : String.fromCharCode(id))).join("");
}

function render(request: ChatRequest): number[] {
  const tools = request.tools ? `{tools ${JSON.stringify(request.tools)}}` : "";
  const turns = request.messages.map((message) => [
    ...codes(`[${message.role}]${textOf(message)}`),
    ...(message.role === "assistant" ? [stopId] : []),
  ]);
  return [...codes(tools), ...turns.flat(), ...codes("[assistant]")];
}

/** A reply is text; `<call>name {json}</call>` are calls, `<think>…</think>` is thinking. */
export const fakeCodec: ChatCodec = {
  stopIds: [stopId],
  encodeRequest(request: ChatRequest, recorded: readonly RecordedCall[]): EncodedPrompt {
    if (request.messages.some((message) => textOf(message).includes("{%"))) {
      throw new LeydenError("template_error", "The chat template failed: unexpected {%.");
    }
    const ids = render(request);
    const continued = recorded
      .filter(({ reply }) => reply !== null)
      .map((call) => ({ id: call.id, ids: [...Array.from(call.promptIds), ...Array.from(call.replyIds)] }))
      .filter((call) => call.ids.every((id, at) => ids[at] === id))
      .sort((a, b) => b.ids.length - a.ids.length)[0];
    const isBreak = recorded.length > 0 && !continued;
    return {
      ids: Int32Array.from(ids),
      parentCall: continued?.id ?? null,
      prefixLength: continued?.ids.length ?? 0,
      break: isBreak ? "edited" : null,
    };
  },
  thinkingEnd(): null {
    return null;
  },

  encodeReply({ content, reasoningContent, toolCalls }): Int32Array {
    const calls = toolCalls.map((call) => `<call>${call.name} ${call.arguments}</call>`).join("");
    const thought = reasoningContent === null ? "" : `<think>${reasoningContent}</think>`;
    return Int32Array.from([...codes(`${thought}${content ?? ""}${calls}`), stopId]);
  },
  encodeText: (text) => Int32Array.from(codes(text)),
  parseReply(ids): ParsedReply {
    const text = decode(ids);
    const thinking = /<think>(.*?)<\/think>/s.exec(text);
    const answer = text.replace(thinking?.[0] ?? "", "");
    const toolCalls = [...answer.matchAll(/<call>(\w+) (.*?)<\/call>/gs)].map(([, name = "", args = ""]) => ({
      name,
      arguments: args,
    }));
    const content = answer.replace(/<call>.*?<\/call>/gs, "");
    const ended = ids.length > 0 && ids[ids.length - 1] === stopId;
    return {
      content: content === "" && toolCalls.length > 0 ? null : content,
      reasoningContent: thinking?.[1] ?? null,
      toolCalls,
      text,
      stopId: ended ? stopId : null,
    };
  },
};

/** What a test lets the engine do with one request: a reply, or an error to throw. */
export type Script = (request: GenerateRequest, prompt: string) => string | Error | Promise<string | Error>;

/** An engine whose replies a script writes. */
export class FakeEngine implements Engine {
  readonly requests: GenerateRequest[] = [];
  readonly cancelled: string[] = [];
  contextLength = 4096;
  version = 1;
  /** Whether it says that it kept to a constraint. */
  constrained: boolean | undefined;
  script: Script = () => "ok";
  private readonly running = new Map<string, () => void>();

  async info(): ReturnType<Engine["info"]> {
    const { contextLength, version } = this;
    const facts = {
      adapter: "none",
      deviceClass: "software",
      family: "fake",
      parameters: 0,
      vocabSize: 65536,
      microBatchTokens: 0,
    } as const;
    return { ...facts, contextLength, version };
  }

  async generate(request: GenerateRequest): Promise<GenerateResult> {
    this.requests.push(request);
    const cancelled = new Promise<null>((resolve) => this.running.set(request.id, () => resolve(null)));
    const reply = await Promise.race([this.script(request, decode(request.promptIds)), cancelled]);
    this.running.delete(request.id);
    if (reply instanceof Error) throw reply;
    return this.result(request, reply);
  }

  private result(request: GenerateRequest, reply: string | null): GenerateResult {
    const { id, maxTokens, stopStrings } = request;
    const whole = reply ?? "";
    const stop = stopStrings.find((text) => whole.includes(text));
    const text = stop === undefined ? whole : whole.slice(0, whole.indexOf(stop) + stop.length);
    const ends = stop === undefined && text.length < maxTokens;
    const ids = Int32Array.from([...codes(text).slice(0, maxTokens), ...(ends ? [stopId] : [])]);
    const finishReason = reply === null ? "cancelled" : ends || stop !== undefined ? "stop" : "length";
    return {
      id,
      ids: reply === null ? new Int32Array(0) : ids,
      logprobs: Float32Array.from(ids, (_, at) => -(at + 1) / 8),
      versions: Int32Array.from(ids, () => this.version),
      finishReason,
      ...(stop === undefined ? {} : { stopped: stop }),
      cachedTokens: 0,
      truncated: request.sampling.topP < 1,
      ...(this.constrained === undefined ? {} : { constrained: this.constrained }),
      ...(request.topLogprobs ? { topLogprobs: topLogprobs(ids, request.topLogprobs) } : {}),
    };
  }

  async cancel(id: string): Promise<void> {
    this.cancelled.push(id);
    this.running.get(id)?.();
  }

  score: Engine["score"] = unused;
  scoreRows: Engine["scoreRows"] = unused;
  updateCritic: Engine["updateCritic"] = unused;
  accumulate: Engine["accumulate"] = unused;
  update: Engine["update"] = unused;
  drain: Engine["drain"] = unused;
  resume: Engine["resume"] = unused;
  snapshot: Engine["snapshot"] = unused;
  stats: Engine["stats"] = async () => ({
    deviceSeconds: { prefill: 0, decode: 0, train: 0, optimizer: 0, score: 0, idle: 0 },
    ...{ promptTokens: 0, cachedTokens: 0, sampledTokens: 0, decodeSteps: 0 },
    ...{ activeSequences: 0, queuedSequences: 0, deviceLosses: 0 },
  });
  async close(): Promise<void> {}
}

/** At each place the chosen id, then those above it. */
function topLogprobs(chosen: Int32Array, count: number): NonNullable<GenerateResult["topLogprobs"]> {
  const places = [...chosen].flatMap((id) => Array.from({ length: count }, (_, rank) => ({ id: id + rank, rank })));
  const ids = Int32Array.from(places, ({ id }) => id);
  return { count, ids, logprobs: Float32Array.from(places, ({ rank }) => -(rank + 1)) };
}

function unused(): never {
  throw new Error("The gateway does not call this.");
}

/** The engine with its codec. */
export function fakeModel(engine: FakeEngine = new FakeEngine()): ServedModel {
  return { engine, codec: fakeCodec, tokenText: (id) => (id === stopId ? "<stop>" : String.fromCharCode(id)) };
}
