// Databases that come into a page as files: with the write-ahead log that a killed program leaves beside its store.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import init, { type SAHPoolUtil } from "@sqlite.org/sqlite-wasm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DatabaseFiles, memoryDatabases, poolFiles } from "../../src/platform/wasm_sqlite_files.ts";

const folder = mkdtempSync(join(tmpdir(), "leyden-wasm-"));
let files: DatabaseFiles;

beforeAll(async () => {
  Object.assign(globalThis, { sqlite3ApiConfig: { debug() {}, log() {}, warn() {}, error() {} } });
  files = memoryDatabases(await init());
});
afterAll(() => rmSync(folder, { recursive: true }));

/** A store as it lies on the disk while its program is at work, and would after a kill: three rows, all in the log. */
function cutOff(): [database: Uint8Array, log: Uint8Array] {
  const path = join(folder, `${Math.random()}.sqlite`);
  const database = new DatabaseSync(path);
  try {
    database.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (a); PRAGMA wal_checkpoint(TRUNCATE)");
    database.exec("INSERT INTO t VALUES (1), (2), (3)");
    return [new Uint8Array(readFileSync(path)), new Uint8Array(readFileSync(`${path}-wal`))];
  } finally {
    database.close();
  }
}

function rows(path: string): unknown[] {
  const database = files.connect(path);
  try {
    return database.selectValues("SELECT a FROM t");
  } finally {
    files.closing(path, database);
    database.close();
  }
}

describe("a database that comes in as a file", () => {
  it("has what stood in its log, and no more than itself without it", async () => {
    const [database, log] = cutOff();
    await files.importFile("/with.sqlite", database, log);
    await files.importFile("/without.sqlite", database);
    await files.importFile("/again.sqlite", database, log);
    expect([rows("/with.sqlite"), rows("/without.sqlite"), rows("/again.sqlite")]).toEqual([[1, 2, 3], [], [1, 2, 3]]);
  });

  it("takes nothing from a log that is not its own", async () => {
    const [database] = cutOff();
    await files.importFile("/odd.sqlite", database, new TextEncoder().encode("no log at all"));
    expect(rows("/odd.sqlite")).toEqual([]);
    const text = new TextEncoder().encode("no database");
    await expect(files.importFile("/text.sqlite", text, text)).rejects.toMatchObject({ code: "store_file" });
  });

  it("is as large as its pages, open or closed", async () => {
    const [database, log] = cutOff();
    await files.importFile("/size.sqlite", database, log);
    const closed = files.sizeBytes("/size.sqlite");
    expect(closed).toBe(files.exportFile("/size.sqlite").length);
    const opened = files.connect("/size.sqlite");
    expect(files.sizeBytes("/size.sqlite")).toBe(closed);
    files.closing("/size.sqlite", opened);
    opened.close();
    expect(() => files.sizeBytes("/none.sqlite")).toThrow("There is no database /none.sqlite.");
  });
});

describe("a database that comes into a browser's storage", () => {
  /** The pool's answer to an import. */
  const imported = async (importDb: () => Promise<number>) => {
    const pool: Pick<SAHPoolUtil, "getFileCount" | "reserveMinimumCapacity" | "unlink" | "importDb"> = {
      ...{ getFileCount: () => 1, reserveMinimumCapacity: async () => 6, unlink: () => false },
      importDb,
    };
    const [database] = cutOff();
    await poolFiles(await init(), pool as SAHPoolUtil).importFile("/runs/calc/store.sqlite", database);
  };
  const thrown = (error: Error) => () => Promise.reject(error);

  it("is told apart where there is no room from one that is none", async () => {
    const full = {
      code: "disk_full",
      message: "The browser's storage is full; /runs/calc/store.sqlite was not written.",
    };
    await expect(imported(thrown(new DOMException("no room", "QuotaExceededError")))).rejects.toMatchObject(full);
    // SQLite's own words for a write that the browser has cut short.
    await expect(imported(thrown(new Error("Expected to write 8192 bytes but wrote 4096.")))).rejects.toMatchObject(
      full,
    );
    const none = thrown(new Error("Input does not contain an SQLite database header."));
    await expect(imported(none)).rejects.toMatchObject({ code: "store_file" });
    await imported(async () => 8192);
  });
});
