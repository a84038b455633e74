// The SqlDriver contract on Node and Deno.
import { platform } from "#platform";
import { afterAll, beforeAll, describe, expect, it } from "#test";
import type { SqlDatabase } from "../../src/schema/sql_driver.ts";

const { files, sql } = platform;
let folder = "";

beforeAll(async () => {
  folder = await files.makeTempFolder("leyden_sql_");
});

afterAll(async () => {
  await files.remove(folder);
});

function withTable(): SqlDatabase {
  const database = sql.open(":memory:");
  database.exec("CREATE TABLE t (id INTEGER PRIMARY KEY, value)");
  return database;
}

describe("SQL driver", () => {
  it("keeps every kind of value", () => {
    const database = withTable();
    const insert = database.prepare("INSERT INTO t (value) VALUES (?)");
    for (const value of [null, 1, -1.5, "grün", Uint8Array.of(0, 255), 2n ** 40n]) insert.run(value);
    const values = database
      .prepare("SELECT value FROM t ORDER BY id")
      .all()
      .map((row) => row.value);
    expect(values).toEqual([null, 1, -1.5, "grün", Uint8Array.of(0, 255), 2 ** 40]);
    database.close();
  });

  it("reports changes, and no row as undefined", () => {
    const database = withTable();
    const insert = database.prepare("INSERT INTO t (value) VALUES (?), (?)");
    expect(insert.run(1, 2)).toEqual({ changes: 2, lastInsertRowid: 2 });
    expect(database.prepare("SELECT value FROM t WHERE id = ?").get(1)).toMatchObject({ value: 1 });
    expect(database.prepare("SELECT value FROM t WHERE id = ?").get(9)).toBeUndefined();
    database.close();
  });

  it("never rounds a large integer", () => {
    const database = withTable();
    database.prepare("INSERT INTO t (value) VALUES (?)").run(2n ** 60n);
    expect(() => database.prepare("SELECT value FROM t").all()).toThrow("too large");
    database.close();
  });

  it("commits a transaction, or takes all of it back", () => {
    const database = withTable();
    const insert = database.prepare("INSERT INTO t (value) VALUES (?)");
    const count = () => database.prepare("SELECT count(*) AS n FROM t").get()?.n;
    expect(database.transaction(() => insert.run(1).changes)).toBe(1);
    const fail = () => {
      insert.run(2);
      throw new Error("second thoughts");
    };
    expect(() => database.transaction(fail)).toThrow("second thoughts");
    expect(count()).toBe(1);
    expect(database.transaction(() => insert.run(3).changes)).toBe(1);
    expect(count()).toBe(2);
    database.close();
  });

  it("keeps a file for the next opening", () => {
    const path = files.join(folder, "kept.sqlite");
    const first = sql.open(path);
    first.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (value); INSERT INTO t VALUES (7)");
    first.close();
    first.close();
    const second = sql.open(path);
    expect(second.prepare("SELECT value FROM t").get()).toMatchObject({ value: 7 });
    second.close();
  });

  it("says what failed", async () => {
    const database = withTable();
    expect(() => database.exec("SELEC 1")).toThrow("(SELEC 1)");
    expect(() => database.prepare("SELECT * FROM missing")).toThrow("no such table: missing");
    expect(() => sql.open(files.join(folder, "no folder", "x.sqlite"))).toThrow("unable to open database file");
    await files.write(files.join(folder, "text"), "this is a text and no database at all");
    const text = sql.open(files.join(folder, "text"));
    expect(() => text.exec("SELECT * FROM sqlite_master")).toThrow("file is not a database");
    text.close();
    database.close();
  });
});
