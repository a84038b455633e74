import { dataIdOf, isTerminal, patchedRollout } from "../schema/rollout.ts";
import type { CallFailure, CallRecord, StoreEvent } from "../schema/store.ts";
import type { Rollout, RolloutEvent, TerminalItem } from "../schema/wire.ts";
import type { StoredCall } from "./call_codec.ts";
import type { Journal } from "./journal.ts";
import { MemoryCalls } from "./memory_calls.ts";
import { rolloutMissing } from "./refusals.ts";
import { type FoldedSummary, foldCall, foldCreated, foldEvent, foldFailure, foldStatus } from "./summary_fold.ts";

/** Something an attempt left behind, in order of writing. */
export type MemoryEntry = { attemptId: string } & (
  | { event: RolloutEvent; call?: undefined }
  | { call: StoredCall; event?: undefined }
);

/** A rollout and everything that goes with it when it is deleted. */
export interface MemoryRecord {
  rollout: Rollout;
  /** Rank by creation among all rollouts ever made. */
  rank: number;
  /** Index in the list of finished rollouts; -1 while it runs. */
  finishedAt: number;
  entries: MemoryEntry[];
  eventIds: Set<string>;
  failures: CallFailure[];
  summary: FoldedSummary;
}

/** What a memory store knows, and how each event changes it. Nothing is taken in uncopied. */
export class MemoryState {
  /** By id, in order of creation. */
  readonly records: Map<string, MemoryRecord> = new Map();
  /** Finished rollouts in order of finishing; null where the rollout was deleted since. */
  readonly finished: (TerminalItem | null)[] = [];
  readonly calls: MemoryCalls;
  private readonly journal: Journal;
  private nextRank = 0;

  constructor(journal: Journal) {
    this.journal = journal;
    this.calls = new MemoryCalls(journal);
  }

  /** Returns false when the event changes nothing. @throws StoreError */
  apply(event: StoreEvent): boolean {
    switch (event.type) {
      case "rollout_created":
        return this.create(event.rollout);
      case "rollout_patched":
        return this.patch(event);
      case "rollout_deleted":
        return this.remove(event.rolloutId);
      case "event_posted":
        return this.post(event.event, event.eventId);
      case "call_recorded":
        return this.recordCall(event.call);
      case "call_delivery":
        return this.calls.deliver(event.callId, event.delivery);
      case "call_failed":
        return this.fail(event.failure);
      case "experiment":
        return true;
    }
  }

  private get(rolloutId: string): MemoryRecord {
    const record = this.records.get(rolloutId);
    if (!record) throw rolloutMissing(rolloutId);
    return record;
  }

  private create(rollout: Rollout): boolean {
    const id = rollout.rollout_id;
    if (this.records.has(id)) return false;
    this.records.set(id, {
      rollout: structuredClone(rollout),
      rank: this.nextRank++,
      finishedAt: -1,
      entries: [],
      eventIds: new Set(),
      failures: [],
      summary: structuredClone(foldCreated(rollout)),
    });
    this.journal.note(() => this.records.delete(id));
    return true;
  }

  private patch(event: Extract<StoreEvent, { type: "rollout_patched" }>): boolean {
    const record = this.get(event.rolloutId);
    const before = record.rollout;
    const after = patchedRollout(before, event.patch, event.at);
    if (after === before) return false;
    record.rollout = structuredClone(after);
    const { finishedAt } = record;
    this.journal.note(() => {
      record.rollout = before;
      record.finishedAt = finishedAt;
    });
    this.fold(record, foldStatus(record.summary, after.status));
    const { state } = after.status;
    if (isTerminal(state) && !isTerminal(before.status.state)) {
      const item = { rollout_id: after.rollout_id, state, data_id: dataIdOf(after.input), is_train: after.is_train };
      record.finishedAt = this.finished.length;
      this.journal.push(this.finished, item);
    }
    return true;
  }

  private remove(rolloutId: string): boolean {
    const record = this.records.get(rolloutId);
    if (!record) return false;
    this.calls.remove(record.entries.flatMap(({ call }) => call ?? []));
    const { finishedAt } = record;
    const item = this.finished[finishedAt];
    this.records.delete(rolloutId);
    if (item) this.finished[finishedAt] = null;
    this.journal.note(() => {
      this.putBack(rolloutId, record);
      if (item) this.finished[finishedAt] = item;
    });
    return true;
  }

  private putBack(rolloutId: string, record: MemoryRecord): void {
    const all = [...this.records, [rolloutId, record] as const].sort(([, a], [, b]) => a.rank - b.rank);
    this.records.clear();
    for (const [id, kept] of all) this.records.set(id, kept);
  }

  private fold(record: MemoryRecord, after: FoldedSummary): void {
    const before = record.summary;
    record.summary = after;
    this.journal.note(() => {
      record.summary = before;
    });
  }

  private fail(failure: CallFailure): boolean {
    const record = this.get(failure.rolloutId);
    this.journal.push(record.failures, structuredClone(failure));
    this.fold(record, foldFailure(record.summary, failure, record.rollout.status.last_attempt_id));
    return true;
  }

  private post(event: RolloutEvent, eventId: string | undefined): boolean {
    const record = this.get(event.rollout_id);
    const { entries, eventIds } = record;
    if (eventId !== undefined) {
      if (eventIds.has(eventId)) return false;
      eventIds.add(eventId);
      this.journal.note(() => eventIds.delete(eventId));
    }
    this.journal.push(entries, { attemptId: event.attempt_id, event: structuredClone(event) });
    this.fold(record, foldEvent(record.summary, event, record.rollout.status.last_attempt_id));
    return true;
  }

  private recordCall(call: CallRecord): boolean {
    const record = this.get(call.rolloutId);
    const { entries } = record;
    const last = entries.findLast((entry) => entry.call && entry.attemptId === call.attemptId)?.call;
    this.journal.push(entries, { attemptId: call.attemptId, call: this.calls.record(call, last) });
    this.fold(record, foldCall(record.summary, call, record.rollout.status.last_attempt_id));
    return true;
  }
}
