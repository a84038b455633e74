/**
 * The recorded calls of an attempt in memory. Each call repeats the conversation before it, so a call shares what it
 * repeats with the call it continues: equal messages and tools are one object, and the ids of a lineage lie in one
 * array. A conversation then takes the room of its last call, not of the sum of all.
 */
import type { ChatRequest, RecordedCall } from "../../src/schema/chat.ts";

/** True when two JSON values are equal, key order aside. */
export function equalJson(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && equalJson((a as never)[key], (b as never)[key]));
}

function sharedRequest(request: ChatRequest, base: ChatRequest): ChatRequest {
  const messages = request.messages.map((message, at) => {
    const known = base.messages[at];
    return known !== undefined && equalJson(known, message) ? known : message;
  });
  const tools = equalJson(request.tools, base.tools) ? base.tools : request.tools;
  return { ...request, messages, tools };
}

/** Ids of one lineage: the prompt and reply of its last call, those of earlier calls being its beginnings. */
interface Lineage {
  buffer: Int32Array;
  length: number;
}

function appended(lineage: Lineage, ids: ArrayLike<number>): Lineage {
  const length = lineage.length + ids.length;
  let { buffer } = lineage;
  if (length > buffer.length) {
    buffer = new Int32Array(Math.max(length, 2 * lineage.length));
    buffer.set(lineage.buffer.subarray(0, lineage.length));
  }
  buffer.set(ids, lineage.length);
  return { buffer, length };
}

/** What is remembered of recorded calls, in order. */
export class CallMemory {
  readonly calls: RecordedCall[] = [];
  private readonly places = new Map<string, number>();
  private readonly lineages = new Map<string, Lineage>();

  /** Remembers a call; its `promptIds` begin with the first `prefixLength` ids of `parent`, the whole of it. */
  add(call: RecordedCall, parent: string | null, prefixLength: number): void {
    const base = (parent === null ? undefined : this.get(parent)) ?? this.calls.at(-1);
    const lineage = this.lineageFor(call, parent, prefixLength);
    const promptEnd = call.promptIds.length;
    this.places.set(call.id, this.calls.length);
    this.calls.push({
      ...call,
      request: base ? sharedRequest(call.request, base.request) : call.request,
      promptIds: lineage.buffer.subarray(0, promptEnd),
      replyIds: lineage.buffer.subarray(promptEnd, lineage.length),
    });
    this.lineages.set(call.id, lineage);
  }

  get(id: string): RecordedCall | undefined {
    const at = this.places.get(id);
    return at === undefined ? undefined : this.calls[at];
  }

  private lineageFor(call: RecordedCall, parent: string | null, prefixLength: number): Lineage {
    const known = parent === null ? undefined : this.lineages.get(parent);
    // The first call that continues another one takes its array over; a branch gets one of its own.
    const isTail = known !== undefined && known.length === prefixLength;
    if (isTail) this.lineages.delete(parent as string);
    const start: Lineage = isTail ? known : { buffer: new Int32Array(0), length: 0 };
    const added = Array.prototype.slice.call(call.promptIds, start.length) as number[];
    return appended(appended(start, added), call.replyIds);
  }

  /** The harness did not get this reply: only its prompt can be continued. */
  forgetReply(id: string): void {
    const at = this.places.get(id);
    const call = this.get(id);
    if (call && at !== undefined) this.calls[at] = { ...call, reply: null };
  }
}
