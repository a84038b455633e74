/**
 * A codec at the other end of a port: rendering and tokenising long prompts holds up nobody on this thread. Of a
 * conversation that goes on only what is new crosses: messages are sent once (`SentObjects`), the ids of the call that is
 * continued never.
 */
import { LeydenError } from "../core/errors.ts";
import type { ChatRequest, EncodedPrompt, PromptAddition, RecordedCall } from "../schema/chat.ts";
import type { WorkerPort } from "../schema/platform.ts";
import type { CodecCall, CodecCalls, CodecReplies, CodecReply, SentCall, SentRequest } from "./codec_messages.ts";
import { promptOf } from "./prompt_addition.ts";
import { SentObjects } from "./sent_objects.ts";

interface Waiting {
  readonly what:
    | { readonly request: readonly [request: ChatRequest, recorded: readonly RecordedCall[]] }
    | { readonly text: readonly [text: string, continues: boolean] };
  readonly resolve: (reply: CodecReply) => void;
  readonly reject: (error: unknown) => void;
}

/** Prompts that go on, served in a row while one that begins waits: the first take milliseconds, the second a second. */
const shortInRow = 8;

/**
 * The encoding half of a codec behind a port. The port's worker has one prompt that begins a conversation at a time, or
 * some that go on; of those that wait, what goes on from a recorded call comes before what is encoded whole, in their
 * order otherwise. Once the port failed, every call rejects with that failure.
 */
export class CodecClient {
  private readonly port: WorkerPort;
  private readonly objects = new SentObjects();
  private readonly short: Waiting[] = [];
  private readonly long: Waiting[] = [];
  /** With the worker. */
  private current: readonly Waiting[] = [];
  private inRow = 0;
  /** How many of those that go on are sent one by one, since together they could not be sent. */
  private alone = 0;
  private lastNumber = 0;
  private failure: unknown = null;

  constructor(port: WorkerPort) {
    this.port = port;
    port.onMessage((message) => this.receive(message as CodecReplies));
  }

  /** Rejects all calls, now and later: the worker is gone. */
  fail(error: unknown): void {
    this.failure ??= error;
    const waiting = [...this.current, ...this.short.splice(0), ...this.long.splice(0)];
    this.current = [];
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

  private call(what: Waiting["what"], goesOn: boolean): Promise<CodecReply> {
    if (this.failure !== null) return Promise.reject(this.failure);
    return new Promise((resolve, reject) => {
      (goesOn ? this.short : this.long).push({ what, resolve, reject });
      this.next();
    });
  }

  private next(): void {
    if (this.current.length > 0) return;
    const waiting = this.takeNext();
    if (waiting.length > 0) this.send(waiting, false);
  }

  private takeNext(): Waiting[] {
    const { short, long } = this;
    if (short.length === 0 || (long.length > 0 && this.inRow >= shortInRow)) {
      this.inRow = 0;
      return long.splice(0, 1);
    }
    const room = long.length > 0 ? shortInRow - this.inRow : shortInRow;
    const taken = short.splice(0, this.alone > 0 ? 1 : room);
    this.alone = Math.max(0, this.alone - 1);
    this.inRow += taken.length;
    return taken;
  }

  /** `again`: the worker has dropped objects that it is now sent once more. */
  private send(waiting: readonly Waiting[], again: boolean): void {
    this.current = waiting;
    try {
      const calls = waiting.map(({ what }) => this.sentWhat(what, again));
      this.port.post({ kind: "codec_calls", number: ++this.lastNumber, calls } satisfies CodecCalls);
    } catch (thrown) {
      // A request nested past what can be cloned.
      this.current = [];
      const [only] = waiting;
      if (waiting.length === 1) {
        only?.reject(thrown);
      } else {
        this.short.unshift(...waiting);
        this.inRow -= waiting.length;
        this.alone = waiting.length;
      }
      this.next();
    }
  }

  private sentWhat(what: Waiting["what"], again: boolean): CodecCall {
    if ("text" in what) return what;
    const [request, recorded] = what.request;
    return { request: [this.sentRequest(request, again), recorded.map((call) => this.sentCall(call, again))] };
  }

  private sentRequest({ messages, tools, templateArgs }: ChatRequest, again: boolean): SentRequest {
    return {
      messages: messages.map((message) => this.objects.refer(message, again)),
      tools: tools ? this.objects.refer(tools, again) : null,
      templateArgs,
    };
  }

  private sentCall({ id, reply, request, promptIds, replyIds }: RecordedCall, again: boolean): SentCall {
    // Ids of its own: those of a part of an array would take all of it along.
    const ids = Int32Array.from(replyIds);
    return { id, reply, request: this.sentRequest(request, again), promptLength: promptIds.length, replyIds: ids };
  }

  private receive({ kind, number, replies }: CodecReplies): void {
    const { current } = this;
    if (kind !== "codec_replies" || number !== this.lastNumber || current.length === 0) return;
    this.current = [];
    for (const [at, reply] of replies.entries()) if (!reply.missing) settle(current[at], reply);
    const incomplete = current.filter((_, at) => replies[at]?.missing);
    if (incomplete.length > 0) this.send(incomplete, true);
    else this.next();
  }
}

function settle(waiting: Waiting | undefined, reply: CodecReply): void {
  const { error } = reply;
  if (!error) waiting?.resolve(reply);
  else waiting?.reject(new LeydenError(error.code, error.message, { do: error.do, data: error.data }, error.exitCode));
}
