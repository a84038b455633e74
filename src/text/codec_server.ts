/** The worker's end of a codec port. */
import { asLeydenError } from "../core/errors.ts";
import type { ChatMessage, ChatRequest, ContinuedCall, PromptAddition, ToolDefinition } from "../schema/chat.ts";
import type { WorkerPort } from "../schema/platform.ts";
import type { ChatCodec } from "./chat_format.ts";
import type { CodecCall, CodecCalls, CodecReplies, CodecReply, SentCall, SentRequest } from "./codec_messages.ts";
import { ReceivedObjects } from "./sent_objects.ts";

/** What encodes at the worker's end; `ChatFormat` does. */
export interface AdditionCodec extends Pick<ChatCodec, "encodeText"> {
  /** As ChatCodec's encodeRequest, without the ids of the call that is continued. */
  encodeAddition(request: ChatRequest, recorded: readonly ContinuedCall[]): PromptAddition;
}

/** Token ids that are kept of prompts that begin a conversation. */
const keptIds = 2_000_000;

/** Bytes of messages and tools that are kept at the worker's end: those of some hundred long conversations. */
const keptBytes = 32_000_000;

/** Prompts that begin conversations: the rollouts of a group all begin with the same one. The oldest leave first. */
class FirstPrompts {
  private readonly prompts = new Map<string, PromptAddition>();
  private ids = 0;

  /** The request's prompt, in ids of the caller's own. */
  encode(codec: AdditionCodec, request: ChatRequest): PromptAddition {
    const name = JSON.stringify(request);
    const prompt = this.prompts.get(name) ?? this.keep(name, codec.encodeAddition(request, []));
    return { ...prompt, ids: prompt.ids.slice() };
  }

  private keep(name: string, prompt: PromptAddition): PromptAddition {
    this.prompts.set(name, prompt);
    this.ids += prompt.ids.length;
    for (const [oldest, { ids }] of this.prompts) {
      if (this.ids <= keptIds) break;
      this.prompts.delete(oldest);
      this.ids -= ids.length;
    }
    return prompt;
  }
}

class CodecServer {
  private readonly codec: AdditionCodec;
  private readonly first = new FirstPrompts();
  private readonly objects: ReceivedObjects;

  constructor(codec: AdditionCodec, kept: number) {
    this.codec = codec;
    this.objects = new ReceivedObjects(kept);
  }

  answer({ request, text }: CodecCall): CodecReply {
    try {
      if (text) return { ids: this.codec.encodeText(...text) };
      const addition = request && this.encode(...request);
      return addition ? { addition } : { missing: true };
    } catch (thrown) {
      const error = asLeydenError(thrown);
      const { code, message, data, exitCode } = error;
      return { error: { code, message, do: error.do, data, exitCode } };
    }
  }

  /** Null when something of it is missing. */
  private encode(sent: SentRequest, sentCalls: readonly SentCall[]): PromptAddition | null {
    const request = this.received(sent);
    if (!request) return null;
    if (sentCalls.length === 0) return this.first.encode(this.codec, request);
    const recorded: ContinuedCall[] = [];
    for (const { request: asked, promptLength, ...call } of sentCalls) {
      const known = this.received(asked);
      if (!known) return null;
      recorded.push({ ...call, request: known, promptIds: { length: promptLength } });
    }
    return this.codec.encodeAddition(request, recorded);
  }

  private received({ messages: sent, tools, templateArgs }: SentRequest): ChatRequest | null {
    const messages = sent.map((message) => this.objects.take(message));
    const list = tools === null ? null : this.objects.take(tools);
    if (list === undefined || messages.includes(undefined)) return null;
    return { messages: messages as ChatMessage[], tools: list as ToolDefinition[] | null, templateArgs };
  }
}

/** Answers an owner's calls with `codec`, one after the other; `kept`: bytes of messages and tools that stay here. */
export function serveCodec(codec: AdditionCodec, port: WorkerPort, kept: number = keptBytes): void {
  const server = new CodecServer(codec, kept);
  port.onMessage((message) => {
    const { kind, number, calls } = message as CodecCalls;
    if (kind !== "codec_calls") return;
    const replies = calls.map((call) => server.answer(call));
    const ids = replies.flatMap((reply) => reply.addition?.ids ?? reply.ids ?? []);
    port.post(
      { kind: "codec_replies", number, replies } satisfies CodecReplies,
      ids.map(({ buffer }) => buffer as ArrayBuffer),
    );
  });
}
