// Stores over SQLite in a worker, where the pool of files may be opened; a test drives them by messages.
import { platform } from "#platform";
import { asLeydenError } from "../../src/core/errors.ts";
import { type BrowserSqlite, openWasmSqlite } from "../../src/platform/wasm_sqlite.ts";
import type { Store } from "../../src/schema/store.ts";
import { openSqlStore } from "../../src/store/sql_store.ts";

/** A method of one of the stores, of the driver, or of this worker. */
export interface StoreAsk {
  readonly id: number;
  readonly store: string;
  readonly method: string;
  readonly args: readonly unknown[];
}

const port = platform.workerPort();
const stores = new Map<string, Store>();
let driver: Promise<BrowserSqlite> | null = null;

async function openStore(path: string): Promise<void> {
  const sqlite = await sqliteHere();
  await sqlite.reserve();
  const lease = { owner: "test", isGone: () => true };
  stores.set(path, await openSqlStore({ driver: sqlite, clock: platform.clock, path, lease }));
}

function sqliteHere(): Promise<BrowserSqlite> {
  driver ??= openWasmSqlite((ms) => platform.clock.sleep(ms));
  return driver;
}

async function answer({ store, method, args }: StoreAsk): Promise<unknown> {
  if (method === "open") return openStore(store);
  const sqlite = await sqliteHere();
  if (method === "query") {
    const database = sqlite.open(store);
    try {
      return database.prepare(String(args[0])).all();
    } finally {
      database.close();
    }
  }
  const target = (stores.get(store) ?? sqlite) as unknown as Record<string, unknown>;
  const member = target[method];
  return typeof member === "function" ? await member.apply(target, args) : member;
}

port.onMessage((message) => {
  const ask = message as StoreAsk;
  answer(ask).then(
    (value) => port.post({ id: ask.id, value }),
    (thrown) => port.post({ id: ask.id, error: asLeydenError(thrown).toJSON() }),
  );
});
