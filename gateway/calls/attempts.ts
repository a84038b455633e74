import type { Store } from "../../src/schema/store.ts";
import type { Rollout } from "../../src/schema/wire.ts";
import { Attempt } from "./attempt.ts";

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
      const stored = () => this.store.calls(rolloutId, attemptId);
      const attempt = new Attempt(stored);
      for (const call of await stored()) attempt.restore(call);
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
