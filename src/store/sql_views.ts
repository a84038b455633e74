/** The SQL store's tables together: how an event changes them, and what they answer. */
import type { CallFailure, CallRecord, LogEntry, StoreEvent } from "../schema/store.ts";
import { eventTypes, type Rollout, type RolloutEvent } from "../schema/wire.ts";
import { callEvent } from "./call_event.ts";
import { logEntry } from "./log_entry.ts";
import { SqlBodies } from "./sql_bodies.ts";
import { SqlCalls } from "./sql_calls.ts";
import type { SqlDialect } from "./sql_dialect.ts";
import { SqlRollouts } from "./sql_rollouts.ts";
import type { SqlSession } from "./sql_session.ts";
import { SqlSummaries, type Trace } from "./sql_summaries.ts";

type Posted = Extract<StoreEvent, { type: "event_posted" }>;

/** Reads and writes without regard to transactions; those are the store's. */
export class SqlViews {
  readonly rollouts: SqlRollouts;
  readonly calls: SqlCalls;
  readonly summaries: SqlSummaries;
  private readonly session: SqlSession;

  constructor(session: SqlSession, dialect: SqlDialect) {
    const bodies = new SqlBodies(session);
    this.session = session;
    this.rollouts = new SqlRollouts(session, bodies);
    this.calls = new SqlCalls(session, bodies);
    this.summaries = new SqlSummaries(session, dialect);
  }

  /** Writes the event as number `seq`; returns false when it changes nothing. @throws StoreError */
  apply(event: StoreEvent, seq: number): boolean {
    const entry = logEntry(event, seq, (callId) => this.calls.rolloutOf(callId));
    if (!this.change(event, seq)) return false;
    const data = entry.data === undefined ? null : JSON.stringify(entry.data);
    const sql = "INSERT INTO log (seq, type, rollout_id, at, name, data) VALUES (?, ?, ?, ?, ?, ?)";
    this.session.run(sql, seq, entry.type, entry.rolloutId, entry.at, entry.name ?? null, data);
    return true;
  }

  private change(event: StoreEvent, seq: number): boolean {
    switch (event.type) {
      case "rollout_created":
        return this.create(event.rollout, seq);
      case "rollout_patched":
        return this.patch(event);
      case "rollout_deleted":
        return this.remove(event.rolloutId);
      case "event_posted":
        return this.post(event, seq);
      case "call_recorded":
        this.record(event.call, seq);
        return true;
      case "call_delivery":
        return this.calls.deliver(event.callId, event.delivery);
      case "call_failed":
        this.fail(event.failure, seq);
        return true;
      case "experiment":
        return true;
    }
  }

  private create(rollout: Rollout, seq: number): boolean {
    if (!this.rollouts.create(rollout, seq)) return false;
    this.summaries.create(rollout, seq);
    return true;
  }

  private patch({ rolloutId, patch, at }: Extract<StoreEvent, { type: "rollout_patched" }>): boolean {
    const patched = this.rollouts.patch(rolloutId, patch, at);
    if (patched !== null) this.summaries.patch(patched);
    return patched !== null;
  }

  private record(call: CallRecord, seq: number): void {
    const named = this.rollouts.attemptOf(call.rolloutId);
    this.calls.record(call, seq);
    this.summaries.trace(call.rolloutId, { call }, named);
  }

  private remove(rolloutId: string): boolean {
    if (!this.rollouts.remove(rolloutId)) return false;
    this.calls.remove(rolloutId);
    this.summaries.remove(rolloutId);
    this.session.run("DELETE FROM events WHERE rollout_id = ?", rolloutId);
    this.session.run("DELETE FROM failures WHERE rollout_id = ?", rolloutId);
    return true;
  }

  private post({ event, eventId }: Posted, seq: number): boolean {
    const named = this.rollouts.attemptOf(event.rollout_id);
    const sql = `INSERT INTO events (seq, rollout_id, attempt_id, event_id, event_type, timestamp, data)
      VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (rollout_id, event_id) DO NOTHING`;
    const { rollout_id: rolloutId, attempt_id: attemptId, event_type: type, timestamp, data } = event;
    const json = JSON.stringify(data);
    if (this.session.run(sql, seq, rolloutId, attemptId, eventId ?? null, type, timestamp, json) === 0) return false;
    this.summaries.trace(rolloutId, { event }, named);
    return true;
  }

  private fail(failure: CallFailure, seq: number): void {
    const named = this.rollouts.attemptOf(failure.rolloutId);
    const sql = "INSERT INTO failures (seq, rollout_id, json) VALUES (?, ?, ?)";
    this.session.run(sql, seq, failure.rolloutId, JSON.stringify(failure));
    this.summaries.trace(failure.rolloutId, { failure }, named);
  }

  attempts(rolloutId: string): string[] {
    const sql = `SELECT attempt_id, MIN(seq) AS first FROM (
        SELECT attempt_id, seq FROM events WHERE rollout_id = ?
        UNION ALL SELECT attempt_id, seq FROM calls WHERE rollout_id = ?
      ) AS both GROUP BY attempt_id ORDER BY first`;
    return this.session.all(sql, rolloutId, rolloutId).map((row) => row.attempt_id as string);
  }

  /** What was posted to a rollout, or to one of its attempts, with sequence numbers, in order. */
  posted(rolloutId: string, attemptId?: string): { seq: number; event: RolloutEvent }[] {
    const of = attemptId === undefined ? [rolloutId] : [rolloutId, attemptId];
    const where = attemptId === undefined ? "rollout_id = ?" : "rollout_id = ? AND attempt_id = ?";
    return this.session.all(`SELECT * FROM events WHERE ${where} ORDER BY seq`, ...of).map((row) => ({
      seq: row.seq as number,
      event: {
        event_type: row.event_type as string,
        rollout_id: rolloutId,
        attempt_id: row.attempt_id as string,
        timestamp: row.timestamp as number,
        data: JSON.parse(row.data as string) as Record<string, unknown>,
      },
    }));
  }

  events(rolloutId: string, attemptId: string, eventType?: string): RolloutEvent[] {
    const posted = this.posted(rolloutId, attemptId);
    const wantsCalls = eventType === undefined || eventType === eventTypes.modelRequest;
    const recorded = wantsCalls ? this.calls.list(rolloutId, attemptId) : [];
    const events = [...posted, ...recorded.map(({ seq, call }) => ({ seq, event: callEvent(call) }))];
    events.sort((a, b) => a.seq - b.seq);
    return events.map(({ event }) => event).filter((event) => (eventType ?? event.event_type) === event.event_type);
  }

  /** Rollouts of a store written before there were lines. */
  rolloutsWithoutSummary(): { id: string; seq: number }[] {
    const sql = "SELECT id, seq FROM rollouts WHERE id NOT IN (SELECT rollout_id FROM summaries) ORDER BY seq";
    return this.session.all(sql).map(({ id, seq }) => ({ id: id as string, seq: seq as number }));
  }

  /** Folds the lines that are missing. */
  completeSummaries(): void {
    for (const { id, seq } of this.rolloutsWithoutSummary()) {
      const rollout = this.rollouts.get(id);
      if (rollout) this.summaries.rebuild(rollout, seq, this.traces(id));
    }
  }

  private traces(id: string): Trace[] {
    const events = this.posted(id);
    const calls = this.calls.list(id);
    const failures = this.session.all("SELECT seq, json FROM failures WHERE rollout_id = ?", id);
    const traces: (Trace & { seq: number })[] = [
      ...events,
      ...calls,
      ...failures.map(({ seq, json }) => ({ seq: seq as number, failure: JSON.parse(json as string) as CallFailure })),
    ];
    return traces.sort((a, b) => a.seq - b.seq);
  }

  failures(rolloutId: string): CallFailure[] {
    const rows = this.session.all("SELECT json FROM failures WHERE rollout_id = ? ORDER BY seq", rolloutId);
    return rows.map((row) => JSON.parse(row.json as string) as CallFailure);
  }

  log(after: number, limit: number): LogEntry[] {
    const rows = this.session.all("SELECT * FROM log WHERE seq > ? ORDER BY seq LIMIT ?", after, limit);
    return rows.map(entryOf);
  }

  noted(name: string): LogEntry | null {
    const sql = "SELECT * FROM log WHERE type = 'experiment' AND name = ? ORDER BY seq DESC LIMIT 1";
    const row = this.session.get(sql, name);
    return row ? entryOf(row) : null;
  }

  notes(name: string, after: number): LogEntry[] {
    const sql = "SELECT * FROM log WHERE seq > ? AND type = 'experiment' AND name = ? ORDER BY seq";
    return this.session.all(sql, after, name).map(entryOf);
  }

  seq(): number {
    return (this.session.get("SELECT COALESCE(MAX(seq), 0) AS seq FROM log")?.seq ?? 0) as number;
  }
}

function entryOf(row: Record<string, unknown>): LogEntry {
  return {
    seq: row.seq as number,
    type: row.type as LogEntry["type"],
    rolloutId: row.rollout_id as string,
    at: row.at as number,
    ...(row.name === null ? {} : { name: row.name as string }),
    ...(row.data === null ? {} : { data: JSON.parse(row.data as string) as unknown }),
  };
}
