/** What the gateway remembers of an attempt while its agent runs: recorded calls, and what is being drawn. */
import type { ChatMessage, RecordedCall } from "../../src/schema/chat.ts";
import type { CallRecord, Store } from "../../src/schema/store.ts";
import type { Rollout } from "../../src/schema/wire.ts";
import type { PastCall, PastCalls } from "../dialects/dialect.ts";
import { dialectNamed } from "../dialects/registry.ts";
import { callKeyOf } from "./call_key.ts";
import { CallMemory } from "./call_memory.ts";

/** One attempt of one rollout. */
export class Attempt implements PastCalls {
  private readonly memory = new CallMemory();
  /** What was said in each call, whether or not the harness is known to have got it: it may refer to it. */
  private readonly said = new Map<string, { reply: ChatMessage | null; instructions: number }>();
  /** Draws of each prompt that count: under way, or delivered. */
  private readonly draws = new Map<string, Set<number>>();

  /** The calls that a request may continue. */
  get recorded(): readonly RecordedCall[] {
    return this.memory.calls;
  }

  /** Remembers a call that was recorded just now; `instructions` as in its ModelCall. */
  remember(call: RecordedCall, parent: string | null, prefixLength: number, instructions = 0): void {
    this.memory.add(call, parent, prefixLength);
    this.said.set(call.id, { reply: call.reply, instructions });
  }

  /** Remembers a call read from the store, after those that it may refer to. */
  restore({ id, own, dialect: name, tokens, delivery, ...record }: CallRecord): void {
    const dialect = dialectNamed(name);
    if (!own || !dialect) return;
    const read = dialect.read(record.request);
    const call = dialect.resolve?.(read, this) ?? read;
    const { promptIds, replyIds } = tokens;
    const reply = dialect.replyMessage(record.response);
    const recorded = { id, request: call.chat, reply, promptIds, replyIds };
    this.remember(recorded, record.parent, record.prefixLength, call.instructions);
    const [prompt = "", occurrence = ""] = record.callKey.split(".");
    if (delivery === "abandoned") this.memory.forgetReply(id);
    else this.drawsOf(prompt).add(Number(occurrence));
  }

  past(callId: string): PastCall | null {
    const said = this.said.get(callId);
    const call = said && this.memory.calls.find(({ id }) => id === callId);
    return call ? { id: callId, messages: call.request.messages.slice(said.instructions), reply: said.reply } : null;
  }

  pastOfToolCall(toolCallId: string): PastCall | null {
    for (const [id, { reply }] of this.said) {
      if (reply?.tool_calls?.some((call) => call.id === toolCallId)) return this.past(id);
    }
    return null;
  }

  private drawsOf(prompt: string): Set<number> {
    const known = this.draws.get(prompt) ?? new Set<number>();
    this.draws.set(prompt, known);
    return known;
  }

  /**
   * The key of the next draw of a prompt. A draw that the harness never got is drawn again under its key, so that a
   * broken connection changes nothing.
   */
  claim(prompt: string): string {
    const draws = this.drawsOf(prompt);
    let occurrence = 0;
    while (draws.has(occurrence)) occurrence++;
    draws.add(occurrence);
    return callKeyOf(prompt, occurrence);
  }

  /** Takes a draw back that was not delivered. */
  release(callKey: string): void {
    const [prompt = "", occurrence = ""] = callKey.split(".");
    this.draws.get(prompt)?.delete(Number(occurrence));
  }

  /** The harness did not get the reply: it can continue the prompt, and not what was drawn. */
  abandon(callId: string, callKey: string): void {
    this.release(callKey);
    this.memory.forgetReply(callId);
  }
}

interface Entry {
  /** When the rollout was made: another one may have the same id later. */
  createdAt: number;
  attempt: Promise<Attempt>;
  /** Calls that wait for their reply. */
  waiting: number;
}

function nameOf(rolloutId: string, attemptId: string): string {
  return JSON.stringify([rolloutId, attemptId]);
}

/** The attempts in use, loaded from the store when they are first met. */
export class Attempts {
  private readonly store: Store;
  private readonly limit: number;
  /** The most recently used stand last. */
  private readonly entries = new Map<string, Entry>();

  /** At most `limit` attempts without waiting calls are kept. */
  constructor(store: Store, limit: number) {
    this.store = store;
    this.limit = limit;
  }

  /** Runs a call of an attempt and counts it as waiting meanwhile. */
  async use<T>(rollout: Rollout, attemptId: string, body: (attempt: Attempt) => Promise<T>): Promise<T> {
    const entry = this.entry(rollout, attemptId);
    entry.waiting++;
    this.makeRoom();
    try {
      return await body(await entry.attempt);
    } finally {
      entry.waiting--;
    }
  }

  /** Calls of an attempt that wait for their reply. */
  waiting(rolloutId: string, attemptId: string): number {
    return this.entries.get(nameOf(rolloutId, attemptId))?.waiting ?? 0;
  }

  private entry(rollout: Rollout, attemptId: string): Entry {
    const name = nameOf(rollout.rollout_id, attemptId);
    const createdAt = rollout.status.created_at;
    let entry = this.entries.get(name);
    if (entry?.createdAt !== createdAt) {
      entry = { createdAt, attempt: this.load(name, rollout.rollout_id, attemptId), waiting: 0 };
    }
    this.entries.delete(name);
    this.entries.set(name, entry);
    return entry;
  }

  private async load(name: string, rolloutId: string, attemptId: string): Promise<Attempt> {
    try {
      const attempt = new Attempt();
      for (const call of await this.store.calls(rolloutId, attemptId)) attempt.restore(call);
      return attempt;
    } catch (thrown) {
      this.entries.delete(name);
      throw thrown;
    }
  }

  private makeRoom(): void {
    let excess = this.entries.size - this.limit;
    for (const [name, { waiting }] of this.entries) {
      if (excess <= 0) return;
      if (waiting > 0) continue;
      this.entries.delete(name);
      excess--;
    }
  }
}
