import { hostname } from "node:os";
import { pid } from "node:process";
import type { HostPlatform } from "../schema/platform.ts";
import type { Store } from "../schema/store.ts";
import type { LeaseOptions } from "../store/lease.ts";
import { MemoryStore } from "../store/memory_store.ts";
import { openSqlStore } from "../store/sql_store.ts";
import { parseStoreFaults, withStoreFaults } from "../store/store_faults.ts";

/** True when a lease's owner was a process of this machine that has ended. */
function isGone(owner: string): boolean {
  const [host, id] = owner.split(":");
  if (host !== hostname()) return false;
  try {
    process.kill(Number(id), 0);
    return false;
  } catch (thrown) {
    return (thrown as { code?: unknown }).code === "ESRCH";
  }
}

/** What a lease says of this process as its owner. */
export const ownLease: Required<Pick<LeaseOptions, "owner" | "isGone">> = { owner: `${hostname()}:${pid}`, isGone };

/** How far apart commits are under load: each takes as long as some ten writes. */
const commitSpacingMs = 4;

/** Opens a store for writing: "memory", or a SQLite file. @throws StoreError */
export async function openStore({ sql, clock, env }: HostPlatform, place: string): Promise<Store> {
  const faults = parseStoreFaults(env.LEYDEN_FAULT);
  const isMemory = place === "memory";
  const store = isMemory
    ? new MemoryStore()
    : await openSqlStore({ driver: sql, clock, path: place, lease: ownLease, commitSpacingMs });
  return withStoreFaults(store, faults, () => process.kill(pid, "SIGKILL"));
}

/** Opens a SQLite file beside whoever writes to it. @throws StoreError */
export async function openStoreForReading({ sql, clock }: HostPlatform, path: string): Promise<Store> {
  return await openSqlStore({ driver: sql, clock, path, lease: null });
}
