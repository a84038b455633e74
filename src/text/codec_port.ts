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

function answer(codec: ChatCodec, { call, request, text }: Call): Reply {
  const reply = { kind: "codec_reply" as const, call };
  try {
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
  port.onMessage((message) => {
    const call = message as Call;
    if (call.kind !== "codec_call") return;
    const reply = answer(codec, call);
    const ids = reply.prompt?.ids ?? reply.ids;
    port.post(reply, ids ? [ids.buffer as ArrayBuffer] : []);
  });
}

interface Waiting {
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: unknown) => void;
}

/** The encoding half of a codec behind a port. Once the port failed, every call rejects with that failure. */
export class CodecClient {
  private readonly port: WorkerPort;
  private readonly waiting = new Map<number, Waiting>();
  private lastCall = 0;
  private failure: unknown = null;

  constructor(port: WorkerPort) {
    this.port = port;
    port.onMessage((message) => this.receive(message as Reply));
  }

  /** Rejects all calls, now and later: the worker is gone. */
  fail(error: unknown): void {
    this.failure ??= error;
    for (const { reject } of this.waiting.values()) reject(this.failure);
    this.waiting.clear();
  }

  /** As in ChatCodec. @throws what the codec throws */
  async encodeRequest(request: ChatRequest, recorded: readonly RecordedCall[]): Promise<EncodedPrompt> {
    const { prompt } = await this.call({ request: [request, recorded] });
    return prompt as EncodedPrompt;
  }

  /** As in ChatCodec. @throws what the codec throws */
  async encodeText(text: string, continues: boolean): Promise<Int32Array> {
    const { ids } = await this.call({ text: [text, continues] });
    return ids as Int32Array;
  }

  private call(what: Pick<Call, "request" | "text">): Promise<Reply> {
    if (this.failure !== null) return Promise.reject(this.failure);
    const call = ++this.lastCall;
    return new Promise((resolve, reject) => {
      this.waiting.set(call, { resolve, reject });
      this.port.post({ kind: "codec_call", call, ...what } satisfies Call);
    });
  }

  private receive(reply: Reply): void {
    const waiting = reply.kind === "codec_reply" ? this.waiting.get(reply.call) : undefined;
    if (!waiting) return;
    this.waiting.delete(reply.call);
    const { error } = reply;
    if (!error) waiting.resolve(reply);
    else waiting.reject(new LeydenError(error.code, error.message, { do: error.do, data: error.data }, error.exitCode));
  }
}
