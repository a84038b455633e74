/**
 * One writer at a time. The writer keeps a lease alive in the database; whoever takes it over raises the epoch, and every
 * transaction of the former writer then fails, however late it wakes up.
 */
import type { Clock } from "../core/clock.ts";
import { StoreError } from "../schema/store_error.ts";
import type { SqlSession } from "./sql_session.ts";

/** How a store claims its database. */
export interface LeaseOptions {
  /** Who writes, for the message that a second writer gets: "host:pid". */
  owner: string;
  /** A lease not renewed for so long is free; 5 s by default. */
  leaseMs?: number;
  /** Take the lease although its owner seems alive. */
  takeOver?: boolean;
  /** True when the named owner is known to be gone, so that nobody waits for its lease to run out. */
  isGone?: (owner: string) => boolean;
}

interface LeaseRow {
  epoch: number;
  /** Empty when it was released. */
  owner: string;
  renewedAt: number;
}

const defaultLeaseMs = 5000;

function read(session: SqlSession): LeaseRow {
  const row = session.get("SELECT epoch, owner, renewed_at FROM lease WHERE id = 1");
  if (!row) return { epoch: 0, owner: "", renewedAt: 0 };
  return { epoch: row.epoch as number, owner: row.owner as string, renewedAt: row.renewed_at as number };
}

/** The writer's claim on a database. All but `keep` is to be called inside a transaction. */
export class Lease {
  private readonly session: SqlSession;
  private readonly clock: Clock;
  private readonly leaseMs: number;
  private readonly epoch: number;
  private readonly stop = new AbortController();

  /** Claims the lease under the next epoch. */
  constructor(session: SqlSession, clock: Clock, owner: string, leaseMs: number) {
    this.session = session;
    this.clock = clock;
    this.leaseMs = leaseMs;
    this.epoch = read(session).epoch + 1;
    session.run(
      `INSERT INTO lease (id, epoch, owner, renewed_at) VALUES (1, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET epoch = excluded.epoch, owner = excluded.owner, renewed_at = excluded.renewed_at`,
      this.epoch,
      owner,
      clock.now(),
    );
  }

  /** @throws StoreError "store_fenced" when another writer has taken over */
  check(): void {
    const { epoch, owner } = read(this.session);
    if (epoch === this.epoch) return;
    throw new StoreError(
      "store_fenced",
      `Another writer, ${owner || "closed since"}, took this store over (epoch ${epoch}, ours ${this.epoch}).`,
      "Stop this process; the other one continues.",
    );
  }

  renew(): void {
    this.session.run("UPDATE lease SET renewed_at = ? WHERE epoch = ?", this.clock.now(), this.epoch);
  }

  /** Frees the lease, unless another writer has it. */
  release(): void {
    this.session.run("UPDATE lease SET owner = '' WHERE epoch = ?", this.epoch);
  }

  /** Calls `renew` three times per lease until `end`. */
  async keep(renew: () => Promise<void>): Promise<void> {
    try {
      for (;;) {
        await this.clock.sleep(this.leaseMs / 3, this.stop.signal);
        await renew();
      }
    } catch {
      // Ended, or fenced: then the next append says so.
    }
  }

  end(): void {
    this.stop.abort();
  }
}

/**
 * Claims the database, waiting while a lease that nobody renews runs out; `begin` opens a transaction.
 * @throws StoreError "store_in_use" when its owner renews it
 */
export async function takeLease(
  session: SqlSession,
  begin: string,
  clock: Clock,
  options: LeaseOptions,
): Promise<Lease> {
  const { owner, leaseMs = defaultLeaseMs, takeOver = false, isGone = () => false } = options;
  let seenAt: number | null = null;
  for (;;) {
    session.exec(begin);
    const held = read(session);
    const ageMs = clock.now() - held.renewedAt;
    if (takeOver || held.owner === "" || ageMs >= leaseMs || isGone(held.owner)) {
      const lease = new Lease(session, clock, owner, leaseMs);
      session.exec("COMMIT");
      return lease;
    }
    session.exec("ROLLBACK");
    seenAt ??= held.renewedAt;
    if (held.renewedAt !== seenAt) {
      throw new StoreError(
        "store_in_use",
        `${held.owner} is writing to this store (last sign ${ageMs} ms ago).`,
        "End it first, or use another file.",
      );
    }
    await clock.sleep(Math.min(100, leaseMs - ageMs));
  }
}
