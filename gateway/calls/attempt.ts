/** What the gateway remembers of an attempt while its agent runs: recorded calls, and what is being drawn. */
import type { ChatMessage, EncodedPrompt, RecordedCall } from "../../src/schema/chat.ts";
import type { CallRecord } from "../../src/schema/store.ts";
import type { ModelCall, PastCall, PastCalls, RawPrompt } from "../dialects/dialect.ts";
import { dialectNamed } from "../dialects/registry.ts";
import { resolvedCall } from "../dialects/resolve_call.ts";
import { emptyHash, hashOn, type IdsHash } from "./call_key.ts";
import { CallMemory } from "./call_memory.ts";
import { Draws } from "./draws.ts";
import type { RawCall } from "./raw_prompt.ts";

/** A call that was recorded just now, or is read from the store. */
export interface FinishedCall {
  id: string;
  /** The model that answered. */
  policy: string;
  call: ModelCall;
  /** The reply as it was delivered. */
  reply: ChatMessage | null;
  /** Of a call without a chat: its prompt; null for any other. */
  prompt: RawPrompt | null;
  promptIds: Int32Array;
  replyIds: Int32Array;
  parent: string | null;
  prefixLength: number;
  /** Its dialect's requests refer to calls instead of repeating them. */
  isReferable: boolean;
}

/** What was said in a call, whether or not the harness is known to have got it: it may refer to it. */
interface Said {
  policy: string;
  reply: ChatMessage | null;
  instructions: number;
}

/** Calls that one model answered. */
interface Answered {
  readonly chats: CallMemory;
  readonly raw: RawCall[];
}

/** One attempt of one rollout. */
export class Attempt implements PastCalls {
  private readonly models = new Map<string, Answered>();
  private readonly said = new Map<string, Said>();
  /** The calls that made tool calls, by the ids of these. */
  private readonly callers = new Map<string, string>();
  private readonly draws = new Draws();
  /** All calls of the attempt as the store has them. */
  private readonly stored: (() => Promise<readonly CallRecord[]>) | null;
  private readonly limit: number | undefined;

  /** Without `stored` every call stays in memory, `limit` of each model's at most otherwise. */
  constructor(stored: (() => Promise<readonly CallRecord[]>) | null = null, limit?: number) {
    this.stored = stored;
    this.limit = stored ? limit : Number.POSITIVE_INFINITY;
  }

  /** The chats with a model that a request may continue, without those that are in the store alone. */
  recorded(policy: string): readonly RecordedCall[] {
    return this.answered(policy).chats.calls;
  }

  /** Those of them whose requests have this many messages. */
  recordedOfLength(policy: string, messages: number): readonly RecordedCall[] {
    return this.answered(policy).chats.ofLength(messages);
  }

  /**
   * Of the chats that are in the store alone those whose requests have this many messages, where one of them may have
   * this reply.
   */
  async droppedOfLength(policy: string, messages: number, reply: ChatMessage): Promise<readonly RecordedCall[]> {
    if (!this.stored || !this.answered(policy).chats.mayHaveDropped(messages, reply)) return [];
    const whole = new Attempt();
    for (const call of await this.stored()) whole.restore(call);
    return whole.recordedOfLength(policy, messages);
  }

  /** Takes a chat back into memory that was in the store alone. */
  revive(policy: string, call: RecordedCall): void {
    const { chats } = this.answered(policy);
    if (chats.get(call.id)) return;
    this.said.set(call.id, { policy, reply: call.reply, instructions: 0 });
    this.forgetDropped(chats.add(call, null, 0));
  }

  private forgetDropped(callIds: readonly string[]): void {
    for (const id of callIds) {
      for (const made of this.said.get(id)?.reply?.tool_calls ?? []) this.callers.delete(made.id);
      this.said.delete(id);
    }
  }

  /** The calls without a chat that a prompt may continue. */
  rawCalls(policy: string): readonly RawCall[] {
    return this.answered(policy).raw;
  }

  /** The hash of a prompt's ids, from that of the call it continues where it has all of it. */
  hashOf(policy: string, { ids, parentCall, prefixLength }: EncodedPrompt): IdsHash {
    const known = parentCall === null ? null : this.answered(policy).chats.hashOf(parentCall, prefixLength);
    return known ? hashOn(known, ids, prefixLength) : hashOn(emptyHash, ids);
  }

  /** The reply that was drawn in a call, delivered or not. */
  replyOf(callId: string): ChatMessage | null {
    return this.said.get(callId)?.reply ?? null;
  }

  private answered(policy: string): Answered {
    const known = this.models.get(policy) ?? { chats: new CallMemory(this.limit), raw: [] };
    this.models.set(policy, known);
    return known;
  }

  /** Remembers a call. */
  remember(finished: FinishedCall): void {
    const { id, policy, call, reply, prompt, promptIds, replyIds, parent, prefixLength, isReferable } = finished;
    const answered = this.answered(policy);
    if (prompt !== null) {
      answered.raw.push({ id, prompt: typeof prompt === "string" ? prompt : null, promptIds, replyIds });
      return;
    }
    const recorded = { id, request: call.chat, reply, promptIds, replyIds };
    this.forgetDropped(answered.chats.add(recorded, parent, prefixLength, isReferable));
    this.said.set(id, { policy, reply, instructions: call.instructions ?? 0 });
    for (const made of reply?.tool_calls ?? []) this.callers.set(made.id, id);
  }

  /** Remembers a call read from the store, after those that it may refer to. */
  restore({ id, policy, dialect: name, tokens, delivery, ...record }: CallRecord): void {
    const dialect = dialectNamed(name);
    // What was forwarded as it came holds whatever its endpoint takes, and nothing of it is continued here.
    const isRaw = record.server.endpoint.includes("://") && dialect?.resolve === undefined;
    if (!dialect || isRaw) return;
    const call = resolvedCall(dialect, dialect.read(record.request), this);
    const reply = dialect.replyMessage(record.response);
    const isReferable = dialect.resolve !== undefined;
    this.remember({ ...record, ...tokens, id, policy, call, reply, prompt: call.prompts?.[0] ?? null, isReferable });
    if (delivery === "abandoned") this.forget(id);
    else this.draws.add(record.callKey);
  }

  past(callId: string): PastCall | null {
    const said = this.said.get(callId);
    const call = said && this.answered(said.policy).chats.get(callId);
    return call ? { id: callId, messages: call.request.messages.slice(said.instructions), reply: said.reply } : null;
  }

  pastOfToolCall(toolCallId: string): PastCall | null {
    const caller = this.callers.get(toolCallId);
    return caller === undefined ? null : this.past(caller);
  }

  /** The key of the next draw of a prompt. */
  claim(prompt: string): string {
    return this.draws.claim(prompt);
  }

  /** Takes a draw back that was not delivered. */
  release(callKey: string): void {
    this.draws.release(callKey);
  }

  /** The harness did not get the reply: it can continue the prompt, and not the whole of what was drawn. */
  abandon(callId: string, callKey: string): void {
    this.release(callKey);
    this.forget(callId);
  }

  private forget(callId: string): void {
    const said = this.said.get(callId);
    if (said) this.answered(said.policy).chats.forgetReply(callId);
  }
}
