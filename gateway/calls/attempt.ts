/** What the gateway remembers of an attempt while its agent runs: recorded calls, and what is being drawn. */
import type { RecordedCall } from "../../src/schema/chat.ts";
import type { CallRecord, Store } from "../../src/schema/store.ts";
import type { Rollout } from "../../src/schema/wire.ts";
import { dialectNamed } from "../dialects/registry.ts";
import { callKeyOf } from "./call_key.ts";
import { CallMemory } from "./call_memory.ts";

/** A recorded call in the terms of the token layer; null for one that it cannot continue. */
function recordedCall({ id, own, dialect, request, response, tokens, delivery }: CallRecord): RecordedCall | null {
  const known = dialectNamed(dialect);
  if (!own || !known) return null;
  return {
    id,
    request: known.read(request).chat,
    reply: delivery === "abandoned" ? null : known.replyMessage(response),
    promptIds: tokens.promptIds,
    replyIds: tokens.replyIds,
  };
}

/** One attempt of one rollout. */
export class Attempt {
  private readonly memory = new CallMemory();
  /** Draws of each prompt that count: under way, or delivered. */
  private readonly draws = new Map<string, Set<number>>();

  /** The calls that a request may continue. */
  get recorded(): readonly RecordedCall[] {
    return this.memory.calls;
  }

  /** Remembers a call that was recorded just now. */
  remember(call: RecordedCall, parent: string | null, prefixLength: number): void {
    this.memory.add(call, parent, prefixLength);
  }

  /** Remembers a call read from the store. */
  restore(call: CallRecord): void {
    const recorded = recordedCall(call);
    if (!recorded) return;
    this.memory.add(recorded, call.parent, call.prefixLength);
    const [prompt = "", occurrence = ""] = call.callKey.split(".");
    if (call.delivery !== "abandoned") this.drawsOf(prompt).add(Number(occurrence));
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
