import { isTerminal } from "../schema/rollout.ts";
import type { LogEntry, Store } from "../schema/store.ts";
import type { Group } from "./groups.ts";
import type { Lifecycle } from "./lifecycle.ts";

const page = 1000;

/** Follows the store's log and knows which rollouts have finished. */
export class Completion {
  private readonly store: Store;
  private seq = 0;
  private readonly finished = new Map<string, Lifecycle>();
  private readonly running = new Map<string, number>();

  constructor(store: Store) {
    this.store = store;
  }

  /** True when every rollout of the group has finished. */
  isComplete(group: Group): boolean {
    return group.rolloutIds.every((id) => this.finished.has(id));
  }

  /** The lives of a group's finished rollouts. */
  livesOf(group: Group): Lifecycle[] {
    return group.rolloutIds.flatMap((id) => this.finished.get(id) ?? []);
  }

  /** Number of the group's rollouts that have finished. */
  finishedOf(group: Group): number {
    return group.rolloutIds.filter((id) => this.finished.has(id)).length;
  }

  /**
   * Waits until `wanted` of the groups are complete and returns them, oldest first; calls `progress` on every change.
   * @throws CancelledError when the signal fires
   */
  async waitFor(groups: readonly Group[], wanted: number, signal: AbortSignal, progress: () => void): Promise<Group[]> {
    for (;;) {
      await this.catchUp();
      progress();
      const complete = groups.filter((g) => this.isComplete(g));
      if (complete.length >= wanted) return complete.slice(0, wanted);
      await this.changed(signal);
    }
  }

  /** Resolves when something was logged since the last look. @throws CancelledError when the signal fires */
  changed(signal: AbortSignal): Promise<void> {
    return this.store.changed(this.seq, signal).then(() => undefined);
  }

  /** Reads what was logged since the last look. */
  async catchUp(): Promise<void> {
    for (;;) {
      const entries = await this.store.log(this.seq, page);
      for (const entry of entries) await this.note(entry);
      this.seq = entries.at(-1)?.seq ?? this.seq;
      if (entries.length < page) return;
    }
  }

  private async note({ type, rolloutId: id, at }: LogEntry): Promise<void> {
    if (type === "rollout_deleted") {
      this.finished.delete(id);
      this.running.delete(id);
    }
    if (type !== "rollout_patched" || this.finished.has(id)) return;
    const rollout = await this.store.rollout(id);
    if (rollout === null) return;
    const { state, created_at: created, updated_at: updated } = rollout.status;
    // The rollout may be further on than this entry: its first patch is its start, its present state has its end.
    if (!this.running.has(id) && (state === "running" || at < updated)) this.running.set(id, at);
    if (isTerminal(state)) this.finished.set(id, { created, running: this.running.get(id) ?? null, finished: updated });
  }
}
