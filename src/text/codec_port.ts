/**
 * A codec at the other end of a port: rendering and tokenising long prompts holds up nobody on this thread. Of a
 * conversation that goes on only what is new crosses: messages are sent once (`SentObjects`), the ids of the call that is
 * continued never.
 */
import { asLeydenError, type ExitCode, LeydenError } from "../core/errors.ts";
import type {
  ChatMessage,
  ChatRequest,
  ContinuedCall,
  EncodedPrompt,
  PromptAddition,
  RecordedCall,
  ToolDefinition,
} from "../schema/chat.ts";
import type { WorkerPort } from "../schema/platform.ts";
import type { ChatCodec } from "./chat_format.ts";
import { promptOf } from "./prompt_addition.ts";
import { ReceivedObjects, type Sent, SentObjects } from "./sent_objects.ts";

/** What encodes at the worker's end; `ChatFormat` does. */
export interface AdditionCodec extends Pick<ChatCodec, "encodeText"> {
  /** As ChatCodec's encodeRequest, without the ids of the call that is continued. */
  encodeAddition(request: ChatRequest, recorded: readonly ContinuedCall[]): PromptAddition;
}

interface SentRequest {
  readonly messages: readonly Sent[];
  readonly tools: Sent | null;
  readonly templateArgs: ChatRequest["templateArgs"];
}

interface SentCall extends Pick<ContinuedCall, "id" | "reply"> {
  readonly request: SentRequest;
  readonly promptLength: number;
  readonly replyIds: Int32Array;
}

interface Call {
  readonly kind: "codec_call";
  readonly call: number;
  readonly request?: readonly [request: SentRequest, recorded: readonly SentCall[]];
  readonly text?: readonly [text: string, continues: boolean];
}

interface Reply {
  readonly kind: "codec_reply";
  readonly call: number;
  readonly addition?: PromptAddition;
  readonly ids?: Int32Array;
  /** Objects that the call named are no longer here. */
  readonly missing?: true;
  readonly error?: { code: string; message: string; do: string; data: Record<string, unknown>; exitCode: ExitCode };
}

/** Token ids that are kept of prompts that begin a conversation. */
const keptIds = 2_000_000;

/** Characters of messages and tools that are kept at the worker's end: those of some hundred long conversations. */
const keptCharacters = 32_000_000;

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

/** The worker's end. */
class CodecServer {
  private readonly codec: AdditionCodec;
  private readonly first = new FirstPrompts();
  private readonly objects = new ReceivedObjects(keptCharacters);

  constructor(codec: AdditionCodec) {
    this.codec = codec;
  }

  answer({ call, request, text }: Call): Reply {
    const reply = { kind: "codec_reply" as const, call };
    try {
      if (text) return { ...reply, ids: this.codec.encodeText(...text) };
      const addition = request && this.encode(...request);
      return addition ? { ...reply, addition } : { ...reply, missing: true };
    } catch (thrown) {
      const error = asLeydenError(thrown);
      const { code, message, data, exitCode } = error;
      return { ...reply, error: { code, message, do: error.do, data, exitCode } };
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

/** Answers an owner's calls with `codec`, one after the other. */
export function serveCodec(codec: AdditionCodec, port: WorkerPort): void {
  const server = new CodecServer(codec);
  port.onMessage((message) => {
    const call = message as Call;
    if (call.kind !== "codec_call") return;
    const reply = server.answer(call);
    const ids = reply.addition?.ids ?? reply.ids;
    port.post(reply, ids ? [ids.buffer as ArrayBuffer] : []);
  });
}

interface Waiting {
  readonly what:
    | { readonly request: readonly [request: ChatRequest, recorded: readonly RecordedCall[]] }
    | { readonly text: readonly [text: string, continues: boolean] };
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: unknown) => void;
}

/** Prompts that go on, served in a row while one that begins waits: the first take milliseconds, the second a second. */
const shortInRow = 8;

/**
 * The encoding half of a codec behind a port. The port's worker has one prompt at a time; of those that wait, what goes
 * on from a recorded call comes before what is encoded whole, in their order otherwise. Once the port failed, every call
 * rejects with that failure.
 */
export class CodecClient {
  private readonly port: WorkerPort;
  private readonly objects = new SentObjects();
  private readonly short: Waiting[] = [];
  private readonly long: Waiting[] = [];
  private current: Waiting | null = null;
  private inRow = 0;
  private lastCall = 0;
  private failure: unknown = null;

  constructor(port: WorkerPort) {
    this.port = port;
    port.onMessage((message) => this.receive(message as Reply));
  }

  /** Rejects all calls, now and later: the worker is gone. */
  fail(error: unknown): void {
    this.failure ??= error;
    const waiting = [...(this.current ? [this.current] : []), ...this.short.splice(0), ...this.long.splice(0)];
    this.current = null;
    for (const { reject } of waiting) reject(this.failure);
  }

  /** As in ChatCodec. @throws what the codec throws */
  async encodeRequest(request: ChatRequest, recorded: readonly RecordedCall[]): Promise<EncodedPrompt> {
    const { addition } = await this.call({ request: [request, recorded] }, recorded.length > 0);
    return promptOf(addition as PromptAddition, recorded);
  }

  /** As in ChatCodec. @throws what the codec throws */
  async encodeText(text: string, continues: boolean): Promise<Int32Array> {
    const { ids } = await this.call({ text: [text, continues] }, continues);
    return ids as Int32Array;
  }

  private call(what: Waiting["what"], goesOn: boolean): Promise<Reply> {
    if (this.failure !== null) return Promise.reject(this.failure);
    return new Promise((resolve, reject) => {
      (goesOn ? this.short : this.long).push({ what, resolve, reject });
      this.next();
    });
  }

  private next(): void {
    if (this.current) return;
    const takesLong = this.short.length === 0 || (this.long.length > 0 && this.inRow >= shortInRow);
    const waiting = (takesLong ? this.long : this.short).shift();
    if (!waiting) return;
    this.inRow = takesLong ? 0 : this.inRow + 1;
    this.send(waiting, false);
  }

  /** `again`: the worker has dropped objects that it is now sent once more. */
  private send(waiting: Waiting, again: boolean): void {
    this.current = waiting;
    try {
      const { what } = waiting;
      const sent =
        "text" in what
          ? what
          : { request: [this.sent(what.request[0], again), what.request[1].map((call) => this.sentCall(call, again))] };
      this.port.post({ kind: "codec_call", call: ++this.lastCall, ...sent });
    } catch (thrown) {
      // A request nested past what can be cloned.
      this.current = null;
      waiting.reject(thrown);
      this.next();
    }
  }

  private sent({ messages, tools, templateArgs }: ChatRequest, again: boolean): SentRequest {
    return {
      messages: messages.map((message) => this.objects.refer(message, again)),
      tools: tools ? this.objects.refer(tools, again) : null,
      templateArgs,
    };
  }

  private sentCall({ id, reply, request, promptIds, replyIds }: RecordedCall, again: boolean): SentCall {
    // Ids of its own: those of a part of an array would take all of it along.
    const ids = Int32Array.from(replyIds);
    return { id, reply, request: this.sent(request, again), promptLength: promptIds.length, replyIds: ids };
  }

  private receive(reply: Reply): void {
    const { current } = this;
    if (reply.kind !== "codec_reply" || reply.call !== this.lastCall || !current) return;
    if (reply.missing) {
      this.send(current, true);
      return;
    }
    this.current = null;
    const { error } = reply;
    if (!error) current.resolve(reply);
    else current.reject(new LeydenError(error.code, error.message, { do: error.do, data: error.data }, error.exitCode));
    this.next();
  }
}
