/** One training run at a time in a folder, whatever its store: it holds a lease there, of the kind that a store has. */
import { hostname } from "node:os";
import { LeydenError } from "../core/errors.ts";
import type { HostPlatform } from "../schema/platform.ts";
import { StoreError } from "../schema/store_error.ts";
import { type Lease, takeLease } from "../store/lease.ts";
import { dialects } from "../store/sql_dialect.ts";
import { leaseTable } from "../store/sql_schema.ts";
import { SqlSession } from "../store/sql_session.ts";
import { ownLease } from "./open_store.ts";

/** A run's folder, held by this process. */
export interface RunHold {
  /** @throws StoreError "store_fenced" when another process has taken the folder over */
  check(): void;
  /** Lets the folder go. */
  release(): void;
}

/** The file with the lease; it stays, since whoever removed it might remove another's. */
const holdFile = "writer.sqlite";

/** A process that gives no sign for so long has lost the folder; one of this machine that has ended, at once. */
const leaseMs = 10_000;

/**
 * Takes a run's folder, making it where there is none.
 * @throws LeydenError "run_in_use" when another process trains there
 */
export async function holdRun(platform: HostPlatform, folder: string): Promise<RunHold> {
  const { files, sql, clock } = platform;
  await files.makeFolder(folder);
  const session = new SqlSession(sql.open(files.join(folder, holdFile)));
  const { begin, opening } = dialects.sqlite;
  try {
    for (const statement of [...opening(false), leaseTable(dialects.sqlite)]) session.exec(statement);
    const busy = ownerAtWork(session, clock.now());
    if (busy !== null) throw inUse(folder, busy);
    const lease = await takeLease(session, begin, clock, { ...ownLease, leaseMs });
    void lease.keep(async () => within(session, begin, lease, () => lease.renew()));
    return {
      check: () => within(session, begin, lease, () => undefined),
      release() {
        lease.end();
        within(session, begin, null, () => lease.release());
        session.close();
      },
    };
  } catch (thrown) {
    const owner = thrown instanceof StoreError && thrown.code === "store_in_use" ? leaseIn(session).owner : null;
    session.close();
    throw owner === null ? thrown : inUse(folder, owner, thrown);
  }
}

/** Runs `body` in a transaction, in which the lease is still ours where one is given. */
function within(session: SqlSession, begin: string, lease: Lease | null, body: () => void): void {
  session.exec(begin);
  try {
    lease?.check();
    body();
    session.exec("COMMIT");
  } catch (thrown) {
    session.exec("ROLLBACK");
    throw thrown;
  }
}

function leaseIn(session: SqlSession): { owner: string; renewedAt: number } {
  const row = session.get("SELECT owner, renewed_at FROM lease WHERE id = 1");
  return { owner: String(row?.owner ?? ""), renewedAt: Number(row?.renewed_at ?? 0) };
}

/** The owner, where it is a living process of this machine, whose next sign nobody needs to wait for; else null. */
function ownerAtWork(session: SqlSession, now: number): string | null {
  const { owner, renewedAt } = leaseIn(session);
  const isOurs = owner.split(":")[0] === hostname();
  return isOurs && now - renewedAt < leaseMs && !ownLease.isGone(owner) ? owner : null;
}

function inUse(folder: string, owner: string, cause?: unknown): LeydenError {
  const [host = "", id = ""] = owner.split(":");
  return new LeydenError(
    "run_in_use",
    `Process ${id} on ${host} trains in ${folder}.`,
    {
      do: "Wait until it has ended, or stop it, then pass --resume; or pass --out with another folder.",
      cause,
      data: { folder, host, pid: Number(id) },
    },
    2,
  );
}
