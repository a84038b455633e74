/**
 * SQLite: the suite of all stores, then what only a database has: durability, group commit, the lease and its fence, a
 * reader beside the writer, growth by new tokens only, bodies kept once, faults of the disk.
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { EnvironmentError } from "../../src/core/errors.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { nodeSqlite } from "../../src/platform/node_sqlite.ts";
import type { SqlDriver } from "../../src/schema/sql_driver.ts";
import type { StoreEvent } from "../../src/schema/store.ts";
import { openSqlStore, type SqlStoreOptions } from "../../src/store/sql_store.ts";
import { storeConformance } from "./conformance/suite.ts";
import { call, event, rollout } from "./samples.ts";

const folder = mkdtempSync(join(tmpdir(), "leyden-store-"));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
const newPath = () => join(folder, `${files++}.sqlite`);

function open(path: string, change: Partial<SqlStoreOptions> = {}) {
  return openSqlStore({ driver: nodeSqlite, clock: systemClock, path, lease: { owner: "test:1" }, ...change });
}

/** The driver with its calls seen, and failed on demand. */
function watched(onExec: (sql: string) => void): SqlDriver {
  return {
    dialect: "sqlite",
    open(path) {
      const database = nodeSqlite.open(path);
      const exec = (sql: string) => {
        onExec(sql);
        database.exec(sql);
      };
      return { ...database, exec };
    },
  };
}

const created = (id: string): StoreEvent => ({ type: "rollout_created", rollout: rollout(id) });

storeConformance("sqlite", () => open(":memory:"));
storeConformance("sqlite file", () => open(newPath(), { commitDelayMs: 2 }));

describe("sqlite: durability", () => {
  it("has everything after reopening, and goes on with the next number", async () => {
    const path = newPath();
    const first = await open(path);
    const calls = [call("k1", "a", [1, 2], [3]), call("k2", "a", [1, 2, 3, 4], [5], { parent: "k1", prefixLength: 3 })];
    await first.append([created("a"), { type: "event_posted", event: event("a", "note"), eventId: "e" }]);
    await first.append(calls.map((record) => ({ type: "call_recorded", call: record })));
    await first.close();
    const second = await open(path);
    expect(await second.calls("a")).toEqual(calls);
    const third = call("k3", "a", [1, 2, 3, 4, 5, 6], [7], { parent: "k2", prefixLength: 5 });
    expect(await second.append([{ type: "call_recorded", call: third }])).toBe(5);
    expect(await second.append([{ type: "event_posted", event: event("a", "note"), eventId: "e" }])).toBe(5);
    expect(await second.calls("a")).toEqual([...calls, third]);
    await second.close();
  });

  it("puts the writes of one tick into one transaction, and acknowledges after its commit", async () => {
    const seen: string[] = [];
    const store = await open(newPath(), { driver: watched((sql) => seen.push(sql)) });
    seen.length = 0;
    const writes = Array.from({ length: 50 }, (_, at) =>
      store.append([created(`r${at}`)]).then(() => seen.push("ack")),
    );
    const read = store.rollouts().then((found) => {
      seen.push("read");
      return found;
    });
    await Promise.all(writes);
    expect(await read).toHaveLength(50);
    const order = seen.filter((sql) => !sql.includes("batch"));
    expect(order.slice(0, 3)).toEqual(["BEGIN IMMEDIATE", "COMMIT", "ack"]);
    expect(order.filter((sql) => sql === "COMMIT")).toHaveLength(1);
    expect(order.indexOf("read")).toBeGreaterThan(1);
    await store.close();
  });

  it("commits within 5 ms of the first write, whatever delay is asked for", async () => {
    const waits: number[] = [];
    const clock = {
      ...systemClock,
      sleep(ms: number, signal?: AbortSignal) {
        waits.push(ms);
        return systemClock.sleep(ms, signal);
      },
    };
    const store = await open(newPath(), { clock, commitDelayMs: 1000 });
    waits.length = 0;
    await store.append([created("a")]);
    expect(waits[0]).toBe(5);
    await store.close();
  });

  it("commits what is open when it is closed", async () => {
    const path = newPath();
    const store = await open(path);
    const written = store.append([created("a")]);
    await store.close();
    expect(await written).toBe(1);
    const again = await open(path);
    expect(await again.rollout("a")).not.toBeNull();
    await again.close();
  });
});

describe("sqlite: faults of the disk", () => {
  it("a failed commit rejects every write of the group, forgets them all, and the store goes on", async () => {
    let failing = false;
    const full = new EnvironmentError("disk_full", "SQLite: database or disk is full (COMMIT).", {
      do: "The disk is full; free some space, then resume.",
    });
    const driver = watched((sql) => {
      if (failing && sql === "COMMIT") throw full;
    });
    const store = await open(newPath(), { driver });
    await store.append([created("a")]);
    failing = true;
    const results = await Promise.allSettled([
      store.append([{ type: "call_recorded", call: call("k", "a", [1], [2]) }]),
      store.append([created("b")]),
      store.rollout("b"),
    ]);
    for (const result of results) {
      expect(result.status).toBe("rejected");
      expect((result as PromiseRejectedResult).reason).toMatchObject({
        code: "store_write",
        message:
          "The store could not write: SQLite: database or disk is full (COMMIT). The disk is full; free some space, then resume.",
        cause: full,
      });
    }
    failing = false;
    expect(await store.seq()).toBe(1);
    expect(await store.append([{ type: "call_recorded", call: call("k", "a", [1], [2]) }])).toBe(2);
    expect(await store.calls("a")).toHaveLength(1);
    await store.close();
  });

  it("a file that is no store, or of another version, is refused by name", async () => {
    const path = newPath();
    await expect(open(path, { lease: null })).rejects.toMatchObject({
      code: "store_version",
      message: `${path} holds no store. Name the store.sqlite of a run.`,
    });
    const old = newPath();
    await (await open(old)).close();
    nodeSqlite.open(old).exec("UPDATE store_meta SET value = '99'");
    await expect(open(old)).rejects.toMatchObject({
      code: "store_version",
      message: `The store ${old} has version 99, this program writes version 1. Use the program that wrote it, or another file.`,
    });
  });
});

describe("sqlite: one writer", () => {
  it("a second writer is refused while the first one lives", async () => {
    const path = newPath();
    const first = await open(path, { lease: { owner: "host:1", leaseMs: 60 } });
    await expect(open(path, { lease: { owner: "host:2", leaseMs: 60 } })).rejects.toMatchObject({
      code: "store_in_use",
      message: expect.stringMatching(
        /^host:1 is writing to this store \(last sign \d+ ms ago\)\. End it first, or use another file\.$/,
      ),
    });
    await first.append([created("a")]);
    await first.close();
    await (await open(path, { lease: { owner: "host:2" } })).close();
  });

  it("a dead writer's lease runs out, or is known to be free", async () => {
    const path = newPath();
    const dead = await open(path, {
      lease: { owner: "host:1" },
      clock: { ...systemClock, sleep: () => new Promise(() => {}) },
    });
    const started = performance.now();
    const second = await open(path, { lease: { owner: "host:2", leaseMs: 120 } });
    expect(performance.now() - started).toBeGreaterThan(80);
    await second.close();
    const third = await open(path, { lease: { owner: "host:3", isGone: (owner) => owner === "host:2" } });
    await third.close();
    void dead;
  });

  it("after a takeover the former writer writes nothing", async () => {
    const path = newPath();
    const first = await open(path, { lease: { owner: "host:1" } });
    await first.append([created("a")]);
    const second = await open(path, { lease: { owner: "host:2", takeOver: true } });
    await expect(first.append([created("b")])).rejects.toMatchObject({
      code: "store_fenced",
      message:
        "Another writer, host:2, took this store over (epoch 2, ours 1). Stop this process; the other one continues.",
    });
    await second.append([created("c")]);
    expect((await second.rollouts()).map((found) => found.rollout_id)).toEqual(["a", "c"]);
    await first.close();
    await second.append([created("d")]);
    await second.close();
  });

  it("a reader sees what is committed, also later, and cannot write", async () => {
    const path = newPath();
    const writer = await open(path);
    await writer.append([created("a")]);
    const reader = await open(path, { lease: null });
    expect(await reader.rollouts()).toHaveLength(1);
    const changed = reader.changed(1);
    await writer.append([created("b")]);
    expect(await changed).toBe(2);
    expect(await reader.rollouts()).toHaveLength(2);
    await expect(reader.append([created("c")])).rejects.toMatchObject({
      code: "store_read_only",
      message: "The store was opened for reading. Open it with a lease to write.",
    });
    await reader.close();
    await writer.close();
  });
});

describe("sqlite: size", () => {
  it("grows by a call's new tokens and messages, not by its prompt", async () => {
    const path = newPath();
    const store = await open(path);
    await store.append([created("a")]);
    const messages: unknown[] = [{ role: "system", content: "s".repeat(40_000) }];
    const ids: number[] = Array.from({ length: 10_000 }, (_, at) => at);
    const sizes: number[] = [];
    let parent = {};
    for (let turn = 0; turn < 100; turn++) {
      messages.push({ role: "user", content: `message ${turn}` });
      ids.push(20_000 + turn);
      const reply = [30_000 + turn];
      const response = { prompt_token_ids: [...ids], choices: [{ token_ids: reply, message: { content: "ok" } }] };
      const record = call(`k${turn}`, "a", ids, reply, { request: { messages: [...messages] }, response, ...parent });
      await store.append([{ type: "call_recorded", call: record }]);
      ids.push(...reply);
      parent = { parent: `k${turn}`, prefixLength: ids.length };
      if (turn % 99 === 0) {
        nodeSqlite.open(path).exec("PRAGMA wal_checkpoint(TRUNCATE)");
        sizes.push(statSync(path).size);
      }
    }
    const [first, last] = sizes as [number, number];
    expect(last - first).toBeLessThan(99 * 2500);
    const calls = await store.calls("a");
    expect(calls.at(-1)?.tokens.promptIds).toHaveLength(10_000 + 199);
    expect(calls.at(-1)?.request.messages).toHaveLength(101);
    await store.close();
  });

  it("keeps a body once, for as long as something refers to it", async () => {
    const path = newPath();
    const store = await open(path);
    const input = { question: "q".repeat(1000) };
    const request = { tools: [{ name: "t".repeat(300) }], text: "u".repeat(300) };
    for (const id of ["a", "b"]) {
      await store.append([
        { type: "rollout_created", rollout: rollout(id, { input }) },
        { type: "call_recorded", call: call(`k${id}`, id, [1], [2], { request }) },
        { type: "call_recorded", call: call(`l${id}`, id, [1], [2], { request }) },
      ]);
    }
    const count = () => nodeSqlite.open(path).prepare("SELECT COUNT(*) AS n FROM bodies").get()?.n;
    expect(count()).toBe(4);
    await store.append([{ type: "rollout_deleted", rolloutId: "a", at: 1 }]);
    expect(count()).toBe(4);
    expect((await store.calls("b"))[1]?.request).toEqual(request);
    await store.append([{ type: "rollout_deleted", rolloutId: "b", at: 1 }]);
    expect(count()).toBe(0);
    await store.close();
  });
});
