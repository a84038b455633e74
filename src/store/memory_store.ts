/** The store without a disk: for tests, tabs and trials. */
import { type SummaryPage, type SummaryQuery, summaryPage } from "../schema/rollout_summary.ts";
import type { CallFailure, CallRecord, LogEntry, RolloutQuery, Store, StoreEvent } from "../schema/store.ts";
import type { Rollout, RolloutEvent, TerminalPage } from "../schema/wire.ts";
import { callEvent } from "./call_event.ts";
import { ChangeFeed } from "./change_feed.ts";
import { Journal } from "./journal.ts";
import { logEntry } from "./log_entry.ts";
import { type MemoryEntry, MemoryState } from "./memory_state.ts";
import { storeClosed } from "./refusals.ts";

/** A store in memory: behaves as the SQL store does, and nothing survives the process. */
export class MemoryStore implements Store {
  private readonly journal = new Journal();
  private readonly state = new MemoryState(this.journal);
  private readonly entries: LogEntry[] = [];
  private readonly feed = new ChangeFeed();
  private closed = false;

  async append(events: readonly StoreEvent[]): Promise<number> {
    this.requireOpen();
    try {
      for (const event of events) {
        // The rollout of a call is looked up before the event applies, since it may be the one that removes it.
        const entry = logEntry(event, this.entries.length + 1, (callId) => this.state.calls.get(callId).rolloutId);
        if (this.state.apply(event)) this.journal.push(this.entries, structuredClone(entry));
      }
    } catch (thrown) {
      this.journal.rollBack();
      throw thrown;
    }
    this.journal.clear();
    this.feed.wake();
    return this.entries.length;
  }

  async rollout(id: string): Promise<Rollout | null> {
    this.requireOpen();
    return structuredClone(this.state.records.get(id)?.rollout ?? null);
  }

  async rollouts(query: RolloutQuery = {}): Promise<Rollout[]> {
    this.requireOpen();
    const { states, limit } = query;
    const found: Rollout[] = [];
    for (const { rollout } of this.state.records.values()) {
      if (!states || states.includes(rollout.status.state)) found.push(rollout);
    }
    return structuredClone(found.slice(0, limit));
  }

  async summaries(query: SummaryQuery): Promise<SummaryPage> {
    this.requireOpen();
    const lines = [...this.state.records.values()].map(({ summary }) => summary.line);
    return structuredClone(summaryPage(lines, query));
  }

  async terminal(after: number, limit: number): Promise<TerminalPage> {
    this.requireOpen();
    const slice = this.state.finished.slice(after, after + limit);
    const items = structuredClone(slice.filter((item) => item !== null));
    return { items, next_after: after + slice.length, total_terminal: this.state.finished.length };
  }

  private attemptEntries(rolloutId: string, attemptId?: string): MemoryEntry[] {
    this.requireOpen();
    const entries = this.state.records.get(rolloutId)?.entries ?? [];
    return attemptId === undefined ? entries : entries.filter((entry) => entry.attemptId === attemptId);
  }

  async attempts(rolloutId: string): Promise<string[]> {
    return [...new Set(this.attemptEntries(rolloutId).map((entry) => entry.attemptId))];
  }

  async events(rolloutId: string, attemptId: string, eventType?: string): Promise<RolloutEvent[]> {
    const entries = this.attemptEntries(rolloutId, attemptId);
    const events = entries.map((entry) =>
      entry.call ? callEvent(this.state.calls.decode(entry.call)) : structuredClone(entry.event),
    );
    return eventType === undefined ? events : events.filter((event) => event.event_type === eventType);
  }

  async posted(rolloutId: string): Promise<RolloutEvent[]> {
    return structuredClone(this.attemptEntries(rolloutId).flatMap(({ event }) => event ?? []));
  }

  async calls(rolloutId: string, attemptId?: string): Promise<CallRecord[]> {
    const entries = this.attemptEntries(rolloutId, attemptId);
    return entries.flatMap(({ call }) => (call ? this.state.calls.decode(call) : []));
  }

  async failures(rolloutId: string): Promise<CallFailure[]> {
    this.requireOpen();
    return structuredClone(this.state.records.get(rolloutId)?.failures ?? []);
  }

  async log(after: number, limit: number): Promise<LogEntry[]> {
    this.requireOpen();
    return structuredClone(this.entries.slice(after, after + limit));
  }

  async noted(name: string): Promise<LogEntry | null> {
    this.requireOpen();
    const found = this.entries.findLast((entry) => entry.type === "experiment" && entry.name === name);
    return structuredClone(found ?? null);
  }

  async notes(name: string, after = 0): Promise<LogEntry[]> {
    this.requireOpen();
    const later = this.entries.slice(after);
    return structuredClone(later.filter((entry) => entry.type === "experiment" && entry.name === name));
  }

  async seq(): Promise<number> {
    this.requireOpen();
    return this.entries.length;
  }

  async changed(after: number, signal?: AbortSignal): Promise<number> {
    this.requireOpen();
    return await this.feed.until(after, () => this.entries.length, signal);
  }

  async close(): Promise<void> {
    this.closed = true;
    this.feed.end(storeClosed());
  }

  private requireOpen(): void {
    if (this.closed) throw storeClosed();
  }
}
