/** A SQL store written before it kept lines of rollouts: they are folded once, and readers change nothing. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { nodeSqlite } from "../../src/platform/node_sqlite.ts";
import type { StoreEvent } from "../../src/schema/store.ts";
import { openSqlStore, type SqlStoreOptions } from "../../src/store/sql_store.ts";
import { call, event, rollout } from "./samples.ts";

const folder = mkdtempSync(join(tmpdir(), "leyden-old-store-"));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;

function open(path: string, change: Partial<SqlStoreOptions> = {}) {
  return openSqlStore({ driver: nodeSqlite, clock: systemClock, path, lease: { owner: "test:1" }, ...change });
}

const created = (id: string): StoreEvent => ({ type: "rollout_created", rollout: rollout(id) });

describe("sqlite: lines of a store written before there were any", () => {
  async function oldStore(): Promise<string> {
    const path = join(folder, `${files++}.sqlite`);
    const store = await open(path);
    await store.append([
      created("a"),
      { type: "call_recorded", call: call("k", "a", [1, 2], [3]) },
      { type: "event_posted", event: event("a", "reward", { value: 0.5 }) },
      created("b"),
      { type: "rollout_patched", rolloutId: "b", patch: { state: "failed", error_message: "no" }, at: 5 },
    ]);
    await store.close();
    const database = nodeSqlite.open(path);
    database.exec("DROP TABLE summaries");
    database.close();
    return path;
  }
  const lines = [
    { id: "a", attempt: "0", calls: 1, reward: 0.5, agents: ["policy"] },
    { id: "b", state: "failed", error: "no" },
  ];

  it("are folded when a writer opens it", async () => {
    const store = await open(await oldStore());
    expect((await store.summaries({ limit: 5 })).rows).toMatchObject(lines);
    await store.close();
  });

  it("are folded by a reader for itself, which leaves the file as it is", async () => {
    const path = await oldStore();
    const reader = await open(path, { lease: null });
    expect((await reader.summaries({ limit: 5 })).rows).toMatchObject(lines);
    expect((await reader.summaries({ limit: 5, text: "no" })).total).toBe(1);
    await reader.close();
    const database = nodeSqlite.open(path);
    expect(database.prepare("SELECT name FROM sqlite_master WHERE name = 'summaries'").all()).toEqual([]);
    database.close();
  });
});
