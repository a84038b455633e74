/**
 * The recorded calls of an attempt in memory. Each call repeats the conversation before it, so a call keeps only what is
 * new in it, beside the call it goes on from: a conversation takes the room of its last call, not of the sum of all, and
 * so does every branch of it.
 */
import type { ChatMessage, ChatRequest, RecordedCall } from "../../src/schema/chat.ts";
import { emptyHash, hashOn, type IdsHash } from "./call_key.ts";

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

/** What is remembered of recorded calls. */
export class CallMemory {
  private readonly entries = new Map<string, Entry>();
  /** Calls by how many messages their requests have. */
  private readonly lengths = new Map<number, Entry[]>();
  private last: Entry | null = null;

  /** All of them, in order. */
  get calls(): RecordedCall[] {
    return [...this.entries.values()].map(viewOf);
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

  get(id: string): RecordedCall | undefined {
    const entry = this.entries.get(id);
    return entry && viewOf(entry);
  }

  /** The hash of a call's ids, prompt and reply; null unless they are `length` ids. */
  hashOf(id: string, length: number): IdsHash | null {
    const entry = this.entries.get(id);
    return entry?.length === length ? entry.hash : null;
  }

  /** Remembers a call; its `promptIds` begin with the first `prefixLength` ids of `parent`. */
  add({ id, request, reply, promptIds, replyIds }: RecordedCall, parent: string | null, prefixLength: number): void {
    const known = parent === null ? undefined : this.entries.get(parent);
    const base = known ?? this.last;
    const { messages, ...settings } = request;
    const shared = base ? sharedCount(messages, messagesOf(base)) : 0;
    const sharedIds = known ? Math.min(prefixLength, known.length) : 0;
    const promptLength = promptIds.length;
    const ids = new Int32Array(promptLength - sharedIds + replyIds.length);
    ids.set(Array.prototype.slice.call(promptIds, sharedIds));
    ids.set(replyIds, promptLength - sharedIds);
    const entry: Entry = {
      id,
      settings:
        base && equalJson(settings.tools, base.settings.tools) ? { ...settings, tools: base.settings.tools } : settings,
      base,
      sharedMessages: shared,
      messages: messages.slice(shared),
      sharedIds,
      ids,
      promptLength,
      length: promptLength + replyIds.length,
      hash: known?.length === sharedIds ? hashOn(known.hash, ids) : wholeHash(promptIds, replyIds),
      reply,
    };
    this.entries.set(id, entry);
    this.last = entry;
    const alike = this.lengths.get(messages.length);
    if (alike) alike.push(entry);
    else this.lengths.set(messages.length, [entry]);
  }

  /** The harness did not get this reply: only its prompt can be continued. */
  forgetReply(id: string): void {
    const entry = this.entries.get(id);
    if (entry) entry.reply = null;
  }
}
