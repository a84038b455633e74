/** The store over a SQL database, opened through the platform's driver. */
import type { Clock } from "../core/clock.ts";
import type { SummaryPage, SummaryQuery } from "../schema/rollout_summary.ts";
import type { SqlDriver } from "../schema/sql_driver.ts";
import type { CallFailure, CallRecord, LogEntry, RolloutQuery, Store, StoreEvent } from "../schema/store.ts";
import { StoreError } from "../schema/store_error.ts";
import type { Rollout, RolloutEvent, TerminalPage } from "../schema/wire.ts";
import { ChangeFeed } from "./change_feed.ts";
import { GroupCommit, type GroupTimes } from "./group_commit.ts";
import { type Lease, type LeaseOptions, takeLease } from "./lease.ts";
import { storeClosed } from "./refusals.ts";
import { dialects, type SqlDialect } from "./sql_dialect.ts";
import { storeVersion, summaryStatements, tableStatements } from "./sql_schema.ts";
import { SqlSession } from "./sql_session.ts";
import { SqlViews } from "./sql_views.ts";

/** How a store is opened. */
export interface SqlStoreOptions {
  driver: SqlDriver;
  clock: Clock;
  /** A file, or ":memory:". */
  path: string;
  /** Null opens for reading only, beside whoever writes. */
  lease: LeaseOptions | null;
  /** Survive a loss of power too; the default survives the end of the process. */
  full?: boolean;
  /** How long a transaction stays open for other writes, at most 5 ms; 0, the end of the tick, by default. */
  commitDelayMs?: number;
  /** How far apart commits are where there are many writes, at most 5 ms; 0, no matter how far, by default. */
  commitSpacingMs?: number;
}

/**
 * Opens the store, making its tables in an empty database.
 * @throws StoreError "store_in_use" when another process writes to it; "store_version" when it is of another version
 */
export async function openSqlStore(options: SqlStoreOptions): Promise<Store> {
  const { driver, clock, path, lease: leaseOptions, full = false } = options;
  const dialect = dialects[driver.dialect];
  const session = new SqlSession(driver.open(path));
  try {
    if (leaseOptions) makeTables(session, dialect, full);
    checkVersion(session, path);
    const lease = leaseOptions && (await takeLease(session, dialect.begin, clock, leaseOptions));
    if (lease) completeSummaries(session, dialect);
    const { commitDelayMs = 0, commitSpacingMs = 0 } = options;
    const times = { delayMs: Math.min(5, commitDelayMs), spacingMs: Math.min(5, commitSpacingMs) };
    return new SqlStore(session, dialect, clock, lease, times);
  } catch (thrown) {
    session.close();
    throw thrown;
  }
}

function makeTables(session: SqlSession, dialect: SqlDialect, full: boolean): void {
  for (const statement of dialect.opening(full)) session.exec(statement);
  session.exec(dialect.begin);
  for (const statement of tableStatements(dialect)) session.exec(statement);
  const sql = "INSERT INTO store_meta (name, value) VALUES ('version', ?) ON CONFLICT (name) DO NOTHING";
  session.run(sql, String(storeVersion));
  session.exec("COMMIT");
}

/** A store written before there were lines gets them once. */
function completeSummaries(session: SqlSession, dialect: SqlDialect): void {
  const views = new SqlViews(session, dialect);
  if (views.rolloutsWithoutSummary().length === 0) return;
  session.exec(dialect.begin);
  views.completeSummaries();
  session.exec("COMMIT");
}

function checkVersion(session: SqlSession, path: string): void {
  let found: unknown;
  try {
    found = session.get("SELECT value FROM store_meta WHERE name = 'version'")?.value;
  } catch (cause) {
    throw new StoreError("store_version", `${path} holds no store.`, "Name the store.sqlite of a run.", cause);
  }
  if (found === String(storeVersion)) return;
  throw new StoreError(
    "store_version",
    `The store ${path} has version ${found}, this program writes version ${storeVersion}.`,
    "Use the program that wrote it, or another file.",
  );
}

/** How often a reader looks for what the writer, another process, has committed. */
const readerPollMs = 200;

class SqlStore implements Store {
  private readonly session: SqlSession;
  private readonly views: SqlViews;
  private readonly clock: Clock;
  private readonly lease: Lease | null;
  private readonly commits: GroupCommit;
  private readonly feed = new ChangeFeed();
  /** Last number written, and last number committed. */
  private written: number;
  private committed: number;
  private closed = false;
  private readonly dialect: SqlDialect;
  /** Number up to which a reader has folded lines itself; null while it has not. */
  private foldedAt: number | null = null;

  constructor(session: SqlSession, dialect: SqlDialect, clock: Clock, lease: Lease | null, times: GroupTimes) {
    this.session = session;
    this.dialect = dialect;
    this.views = new SqlViews(session, dialect);
    this.clock = clock;
    this.lease = lease;
    this.written = this.views.seq();
    this.committed = this.written;
    const transaction = {
      begin: () => this.begin(dialect.begin),
      commit: () => this.commit(),
      rollBack: () => this.rollBack(),
    };
    this.commits = new GroupCommit(transaction, clock, times);
    void lease?.keep(() => this.renew(lease));
  }

  /** Committed at once: whoever waits for the database in this same thread would wait for a timer that cannot fire. */
  private async renew(lease: Lease): Promise<void> {
    await Promise.all([this.commits.run(() => lease.renew()), this.commits.flush()]);
  }

  private begin(sql: string): void {
    this.session.exec(sql);
    try {
      this.lease?.check();
    } catch (thrown) {
      this.session.exec("ROLLBACK");
      throw thrown;
    }
  }

  private commit(): void {
    this.session.exec("COMMIT");
    this.committed = this.written;
    this.feed.wake();
  }

  private rollBack(): void {
    try {
      this.session.exec("ROLLBACK");
    } catch {
      // The database has done so itself, as SQLite does when the disk is full.
    }
    this.written = this.committed;
  }

  async append(events: readonly StoreEvent[]): Promise<number> {
    this.requireOpen();
    if (!this.lease) throw readOnly();
    return await this.commits.run(() => {
      const before = this.written;
      this.session.run("SAVEPOINT batch");
      try {
        for (const event of events) if (this.views.apply(event, this.written + 1)) this.written++;
      } catch (thrown) {
        if (thrown instanceof StoreError) this.session.exec("ROLLBACK TO batch; RELEASE batch");
        this.written = before;
        throw thrown;
      }
      this.session.run("RELEASE batch");
      return this.written;
    });
  }

  /** What is read may stand in the open transaction: it is handed out once that is committed. */
  private async read<T>(query: (views: SqlViews) => T): Promise<T> {
    this.requireOpen();
    const result = query(this.views);
    await this.commits.settled();
    return result;
  }

  rollout(id: string): Promise<Rollout | null> {
    return this.read(({ rollouts }) => rollouts.get(id));
  }

  rollouts(query: RolloutQuery = {}): Promise<Rollout[]> {
    return this.read(({ rollouts }) => rollouts.list(query));
  }

  summaries(query: SummaryQuery): Promise<SummaryPage> {
    return this.read((views) => {
      if (this.lease === null) this.ownSummaries();
      return views.summaries.page(query);
    });
  }

  /** A reader beside a store that keeps no lines folds them itself, anew when something was written since. */
  private ownSummaries(): void {
    const seq = this.views.seq();
    if (seq === this.foldedAt) return;
    const sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'summaries'";
    if (this.foldedAt === null && this.session.get(sql) !== undefined) return;
    for (const statement of summaryStatements(this.dialect, "TEMP TABLE")) this.session.exec(statement);
    this.session.exec("DELETE FROM summaries");
    this.views.completeSummaries();
    this.foldedAt = seq;
  }

  terminal(after: number, limit: number): Promise<TerminalPage> {
    return this.read(({ rollouts }) => rollouts.terminal(after, limit));
  }

  attempts(rolloutId: string): Promise<string[]> {
    return this.read((views) => views.attempts(rolloutId));
  }

  events(rolloutId: string, attemptId: string, eventType?: string): Promise<RolloutEvent[]> {
    return this.read((views) => views.events(rolloutId, attemptId, eventType));
  }

  posted(rolloutId: string): Promise<RolloutEvent[]> {
    return this.read((views) => views.posted(rolloutId).map(({ event }) => event));
  }

  calls(rolloutId: string, attemptId?: string): Promise<CallRecord[]> {
    return this.read(({ calls }) => calls.list(rolloutId, attemptId).map(({ call }) => call));
  }

  failures(rolloutId: string): Promise<CallFailure[]> {
    return this.read((views) => views.failures(rolloutId));
  }

  log(after: number, limit: number): Promise<LogEntry[]> {
    return this.read((views) => views.log(after, limit));
  }

  noted(name: string): Promise<LogEntry | null> {
    return this.read((views) => views.noted(name));
  }

  notes(name: string, after = 0): Promise<LogEntry[]> {
    return this.read((views) => views.notes(name, after));
  }

  async seq(): Promise<number> {
    return await this.read((views) => views.seq());
  }

  async changed(after: number, signal?: AbortSignal): Promise<number> {
    this.requireOpen();
    if (this.lease) return await this.feed.until(after, () => this.committed, signal);
    for (;;) {
      const seq = await this.seq();
      if (seq > after) return seq;
      await this.clock.sleep(readerPollMs, signal);
    }
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    this.feed.end(storeClosed());
    this.lease?.end();
    try {
      if (this.lease) await this.release(this.lease);
    } finally {
      this.session.close();
    }
  }

  private async release(lease: Lease): Promise<void> {
    const released = this.commits.run(() => lease.release());
    try {
      await this.commits.flush();
      await released;
    } catch (thrown) {
      // A fenced store has no lease to free.
      if (!(thrown instanceof StoreError && thrown.code === "store_fenced")) throw thrown;
    }
  }

  private requireOpen(): void {
    if (this.closed) throw storeClosed();
  }
}

function readOnly(): StoreError {
  return new StoreError("store_read_only", "The store was opened for reading.", "Open it with a lease to write.");
}
