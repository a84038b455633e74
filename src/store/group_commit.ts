import type { Clock } from "../core/clock.ts";
import { asLeydenError, CancelledError } from "../core/errors.ts";
import { StoreError } from "../schema/store_error.ts";

/** The transaction of a database. */
export interface Transaction {
  begin(): void;
  commit(): void;
  rollBack(): void;
}

interface Group {
  committed: Promise<void>;
  resolve(): void;
  reject(error: Error): void;
  wait: AbortController;
}

/** Why a group's wait ends; without a reason a signal makes an exception with a stack each time. */
const closed = "closed";

/** How long a group stays open for others. */
export interface GroupTimes {
  /** At least; 0 means the end of the tick. */
  readonly delayMs: number;
  /** So that commits are this far apart: a lone write is committed at once, and many share one. */
  readonly spacingMs: number;
}

/** Puts the writes of one tick into one transaction, so that many writers pay for one commit. */
export class GroupCommit {
  private readonly transaction: Transaction;
  private readonly clock: Clock;
  private readonly times: GroupTimes;
  private group: Group | null = null;
  private lastCommitAt = Number.NEGATIVE_INFINITY;

  constructor(transaction: Transaction, clock: Clock, times: GroupTimes) {
    this.transaction = transaction;
    this.clock = clock;
    this.times = times;
  }

  /**
   * Runs a write inside the open transaction, opening one if there is none, and returns its result after the commit.
   * A StoreError of `write` is the caller's own and must have changed nothing; any other fault fails the whole group.
   */
  async run<T>(write: () => T): Promise<T> {
    const group = this.group ?? this.open();
    let result: T;
    try {
      result = write();
    } catch (thrown) {
      if (thrown instanceof StoreError) throw thrown;
      throw this.fail(group, thrown);
    }
    await group.committed;
    return result;
  }

  /** Resolves when everything written so far is committed. @throws StoreError when it could not be */
  async settled(): Promise<void> {
    await this.group?.committed;
  }

  /** Commits now what is open. @throws StoreError "store_write" */
  async flush(): Promise<void> {
    const { group } = this;
    if (!group) return;
    this.commit(group);
    await group.committed;
  }

  private open(): Group {
    try {
      this.transaction.begin();
    } catch (thrown) {
      throw thrown instanceof StoreError ? thrown : writeFailed(thrown);
    }
    const { promise: committed, resolve, reject } = Promise.withResolvers<void>();
    committed.catch(() => {}); // Every writer and reader of the group gets the error; here nobody waits for it.
    const group: Group = { committed, resolve, reject, wait: new AbortController() };
    this.group = group;
    const { delayMs, spacingMs } = this.times;
    const untilNext = this.lastCommitAt + spacingMs - this.clock.monotonic();
    this.clock.sleep(Math.max(delayMs, untilNext), group.wait.signal).then(
      () => this.commit(group),
      (error: unknown) => {
        if (!(error instanceof CancelledError)) this.fail(group, error);
      },
    );
    return group;
  }

  private commit(group: Group): void {
    if (this.group !== group) return;
    try {
      this.transaction.commit();
    } catch (thrown) {
      this.fail(group, thrown);
      return;
    }
    this.group = null;
    this.lastCommitAt = this.clock.monotonic();
    group.wait.abort(closed);
    group.resolve();
  }

  private fail(group: Group, thrown: unknown): StoreError {
    const error = thrown instanceof StoreError ? thrown : writeFailed(thrown);
    if (this.group === group) {
      this.group = null;
      this.transaction.rollBack();
      group.wait.abort(closed);
      group.reject(error);
    }
    return error;
  }
}

function writeFailed(thrown: unknown): StoreError {
  const cause = asLeydenError(thrown);
  const advice = cause.do || "Check the disk, then resume from the last checkpoint.";
  return new StoreError("store_write", `The store could not write: ${cause.message}`, advice, cause);
}
