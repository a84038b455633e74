/**
 * The recorded calls of an attempt in memory. Each call repeats the conversation before it, so a call keeps only what is
 * new in it, beside the call it goes on from: a conversation takes the room of its last call, not of the sum of all, and
 * so does every branch of it.
 */
import type { ChatMessage, ChatRequest, RecordedCall } from "../../src/schema/chat.ts";
import { emptyHash, hashOn, type IdsHash } from "./call_key.ts";
import { DroppedCalls } from "./dropped_calls.ts";

/** True when two JSON values are equal, key order aside. */
export function equalJson(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && equalJson((a as never)[key], (b as never)[key]));
}

/** The request with the objects of `base` where it says the same. */
export function sharedRequest(request: ChatRequest, base: ChatRequest): ChatRequest {
  const messages = request.messages.map((message, at) => {
    const known = base.messages[at];
    return known !== undefined && equalJson(known, message) ? known : message;
  });
  const tools = equalJson(request.tools, base.tools) ? base.tools : request.tools;
  return { ...request, messages, tools };
}

/** One call: what it repeats of another, and what is its own. */
interface Entry {
  readonly id: string;
  /** Its place in the order of all. */
  readonly at: number;
  /** Stays in memory, however many come after it. */
  readonly isKept: boolean;
  /** The request without its messages; its tools are the base's own where they are equal. */
  readonly settings: Omit<ChatRequest, "messages">;
  readonly base: Entry | null;
  /** How many of the base's messages come first, and those after them. */
  readonly sharedMessages: number;
  readonly messages: readonly ChatMessage[];
  /** How many of the base's ids, prompt and reply, come first; and those after them, the reply's included. */
  readonly sharedIds: number;
  readonly ids: Int32Array;
  readonly promptLength: number;
  readonly length: number;
  /** Of all its ids, the reply's included. */
  readonly hash: IdsHash;
  reply: ChatMessage | null;
}

function messagesOf(entry: Entry): ChatMessage[] {
  const parts: (readonly ChatMessage[])[] = [];
  let count = Number.POSITIVE_INFINITY;
  for (let at: Entry | null = entry; at !== null; at = at.base) {
    const own = Math.max(0, Math.min(count, at.sharedMessages + at.messages.length) - at.sharedMessages);
    parts.push(at.messages.slice(0, own));
    count = Math.min(count, at.sharedMessages);
    if (count === 0) break;
  }
  return parts.reverse().flat();
}

function idsOf(entry: Entry): Int32Array {
  const ids = new Int32Array(entry.length);
  let count = entry.length;
  for (let at: Entry | null = entry; at !== null && count > 0; at = at.base) {
    const from = Math.min(count, at.sharedIds);
    ids.set(at.ids.subarray(0, count - from), from);
    count = from;
  }
  return ids;
}

function sharedCount(messages: readonly ChatMessage[], base: readonly ChatMessage[]): number {
  let count = 0;
  while (count < messages.length && count < base.length && equalJson(messages[count], base[count])) count++;
  return count;
}

/** The whole of a call; its ids are put together when they are asked for. */
function viewOf(entry: Entry): RecordedCall {
  let ids: Int32Array | null = null;
  const whole = (): Int32Array => {
    ids ??= idsOf(entry);
    return ids;
  };
  return {
    id: entry.id,
    request: { ...entry.settings, messages: messagesOf(entry) },
    reply: entry.reply,
    get promptIds() {
      return whole().subarray(0, entry.promptLength);
    },
    get replyIds() {
      return whole().subarray(entry.promptLength);
    },
  };
}

function wholeHash(promptIds: ArrayLike<number>, replyIds: ArrayLike<number>): IdsHash {
  return hashOn(hashOn(emptyHash, promptIds), replyIds);
}

/** Calls of an attempt that stay in memory, those continued lately first; what else there was is in the store. */
const rememberedCalls = 128;

/** What is remembered of recorded calls. */
export class CallMemory {
  /** What is not, for `mayHaveDropped`. */
  private readonly dropped = new DroppedCalls();
  private readonly entries = new Map<string, Entry>();
  /** Those that may be dropped, the least recently used first. */
  private readonly droppable = new Map<string, Entry>();
  /** Calls by how many messages their requests have. */
  private readonly lengths = new Map<number, Entry[]>();
  private readonly limit: number;
  private last: Entry | null = null;
  private count = 0;

  constructor(limit: number = rememberedCalls) {
    this.limit = limit;
  }

  /** All of them, in order. */
  get calls(): RecordedCall[] {
    return [...this.entries.values()].sort((a, b) => a.at - b.at).map(viewOf);
  }

  /** How many there are, and what they keep of their own. */
  get size(): { calls: number; ids: number; messages: number } {
    const entries = [...this.entries.values()];
    return {
      calls: entries.length,
      ids: entries.reduce((sum, { ids }) => sum + ids.length, 0),
      messages: entries.reduce((sum, { messages }) => sum + messages.length, 0),
    };
  }

  /** Those whose requests have this many messages, in order. */
  ofLength(messages: number): RecordedCall[] {
    return (this.lengths.get(messages) ?? []).map(viewOf);
  }

  /** Whether `reply`, after so many messages, may be that of a call which is not in memory any more. */
  mayHaveDropped(messages: number, reply: ChatMessage): boolean {
    return this.dropped.mayHold(messages, reply);
  }

  get(id: string): RecordedCall | undefined {
    const entry = this.entries.get(id);
    return entry && viewOf(entry);
  }

  /** The hash of a call's ids, prompt and reply; null unless they are `length` ids. */
  hashOf(id: string, length: number): IdsHash | null {
    const entry = this.entries.get(id);
    return entry?.length === length ? entry.hash : null;
  }

  /**
   * Remembers a call; its `promptIds` begin with the first `prefixLength` ids of `parent`. `isKept`: it stays in memory.
   * Returns the ids of calls that had to leave.
   */
  add(call: RecordedCall, parent: string | null, prefixLength: number, isKept = false): string[] {
    const { id, request } = call;
    const known = parent === null ? undefined : this.entries.get(parent);
    const entry = entryOf(call, { known, base: known ?? this.last, prefixLength, at: this.count++, isKept });
    this.entries.set(id, entry);
    this.last = entry;
    const alike = this.lengths.get(request.messages.length);
    if (alike) alike.push(entry);
    else this.lengths.set(request.messages.length, [entry]);
    if (known && this.droppable.delete(known.id)) this.droppable.set(known.id, known);
    if (!isKept) this.droppable.set(id, entry);
    return this.dropOldest();
  }

  private dropOldest(): string[] {
    const left: string[] = [];
    for (const [id, entry] of this.droppable) {
      if (this.droppable.size <= this.limit) break;
      const messages = entry.sharedMessages + entry.messages.length;
      if (entry.reply) this.dropped.add(id, messages, entry.reply);
      this.droppable.delete(id);
      this.entries.delete(id);
      const alike = this.lengths.get(messages)?.filter((other) => other !== entry) ?? [];
      if (alike.length > 0) this.lengths.set(messages, alike);
      else this.lengths.delete(messages);
      left.push(id);
    }
    return left;
  }

  /** The harness did not get this reply: only its prompt can be continued. */
  forgetReply(id: string): void {
    const entry = this.entries.get(id);
    if (entry) entry.reply = null;
  }
}

/** The first call of a chain that has all that is shared: no later one of it is held in memory for that. */
function nearestBase(base: Entry | null, messages: number, ids: number): Entry | null {
  if (messages + ids === 0) return null;
  let at = base;
  while (at?.base && at.sharedMessages >= messages && at.sharedIds >= ids) at = at.base;
  return at;
}

/** Where a call stands among the others. */
interface Place {
  /** The call it continues, where that is in memory. */
  known: Entry | undefined;
  /** The call it is stored against. */
  base: Entry | null;
  prefixLength: number;
  at: number;
  isKept: boolean;
}

function entryOf({ id, request, reply, promptIds, replyIds }: RecordedCall, place: Place): Entry {
  const { known, base, prefixLength, at, isKept } = place;
  const { messages, ...settings } = request;
  const sharedMessages = base ? sharedCount(messages, messagesOf(base)) : 0;
  const sharedIds = known ? Math.min(prefixLength, known.length) : 0;
  const promptLength = promptIds.length;
  const ids = new Int32Array(promptLength - sharedIds + replyIds.length);
  ids.set(Array.prototype.slice.call(promptIds, sharedIds));
  ids.set(replyIds, promptLength - sharedIds);
  const sameTools = base !== null && equalJson(settings.tools, base.settings.tools);
  return {
    id,
    at,
    isKept,
    settings: sameTools ? { ...settings, tools: base.settings.tools } : settings,
    base: nearestBase(base, sharedMessages, sharedIds),
    sharedMessages,
    messages: messages.slice(sharedMessages),
    sharedIds,
    ids,
    promptLength,
    length: promptLength + replyIds.length,
    hash: known?.length === sharedIds ? hashOn(known.hash, ids) : wholeHash(promptIds, replyIds),
    reply,
  };
}
