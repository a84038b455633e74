/** A codec at the other end of a port: rendering and tokenising long prompts holds up nobody on this thread. */
import { asLeydenError, type ExitCode, LeydenError } from "../core/errors.ts";
import type { ChatRequest, EncodedPrompt, RecordedCall } from "../schema/chat.ts";
import type { WorkerPort } from "../schema/platform.ts";
import type { ChatCodec } from "./chat_format.ts";

interface Call {
  readonly kind: "codec_call";
  readonly call: number;
  readonly request?: readonly [request: ChatRequest, recorded: readonly RecordedCall[]];
  readonly text?: readonly [text: string, continues: boolean];
}

interface Reply {
  readonly kind: "codec_reply";
  readonly call: number;
  readonly prompt?: EncodedPrompt;
  readonly ids?: Int32Array;
  readonly error?: { code: string; message: string; do: string; data: Record<string, unknown>; exitCode: ExitCode };
}

/** Token ids that are kept of prompts that begin a conversation. */
const keptIds = 2_000_000;

/** Prompts that begin conversations: the rollouts of a group all begin with the same one. The oldest leave first. */
class FirstPrompts {
  private readonly prompts = new Map<string, EncodedPrompt>();
  private ids = 0;

  /** The request's prompt, in ids of the caller's own. */
  encode(codec: ChatCodec, request: ChatRequest): EncodedPrompt {
    const name = JSON.stringify(request);
    const prompt = this.prompts.get(name) ?? this.keep(name, codec.encodeRequest(request, []));
    return { ...prompt, ids: prompt.ids.slice() };
  }

  private keep(name: string, prompt: EncodedPrompt): EncodedPrompt {
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

function answer(codec: ChatCodec, first: FirstPrompts, { call, request, text }: Call): Reply {
  const reply = { kind: "codec_reply" as const, call };
  try {
    if (request?.[1].length === 0) return { ...reply, prompt: first.encode(codec, request[0]) };
    if (request) return { ...reply, prompt: codec.encodeRequest(...request) };
    return { ...reply, ids: text ? codec.encodeText(...text) : new Int32Array(0) };
  } catch (thrown) {
    const error = asLeydenError(thrown);
    const { code, message, data, exitCode } = error;
    return { ...reply, error: { code, message, do: error.do, data, exitCode } };
  }
}

/** Answers an owner's calls with `codec`, one after the other. */
export function serveCodec(codec: ChatCodec, port: WorkerPort): void {
  const first = new FirstPrompts();
  port.onMessage((message) => {
    const call = message as Call;
    if (call.kind !== "codec_call") return;
    const reply = answer(codec, first, call);
    const ids = reply.prompt?.ids ?? reply.ids;
    port.post(reply, ids ? [ids.buffer as ArrayBuffer] : []);
  });
}

interface Waiting {
  readonly what: Pick<Call, "request" | "text">;
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
    const { prompt } = await this.call({ request: [request, recorded] }, recorded.length > 0);
    return prompt as EncodedPrompt;
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
    this.current = waiting;
    try {
      this.port.post({ kind: "codec_call", call: ++this.lastCall, ...waiting.what } satisfies Call);
    } catch (thrown) {
      // A request nested past what can be cloned.
      this.current = null;
      waiting.reject(thrown);
      this.next();
    }
  }

  private receive(reply: Reply): void {
    const { current } = this;
    if (reply.kind !== "codec_reply" || reply.call !== this.lastCall || !current) return;
    this.current = null;
    const { error } = reply;
    if (!error) current.resolve(reply);
    else current.reject(new LeydenError(error.code, error.message, { do: error.do, data: error.data }, error.exitCode));
    this.next();
  }
}
