import init, {
  type Database,
  type PreparedStatement,
  type SAHPoolUtil,
  type Sqlite3Static,
} from "@sqlite.org/sqlite-wasm";
import { EnvironmentError, FormatError } from "../core/errors.ts";
import type { SqlDatabase, SqlDriver, SqlRow, SqlStatement, SqlValue } from "../schema/sql_driver.ts";
import { hasPrivateFiles } from "./browser_files.ts";
import { absolutePath } from "./path_segments.ts";

/** SQLite in a browser: its files lie in a pool of their own, outside what Files shows. */
export interface BrowserSqlite extends SqlDriver {
  /** False where the browser gives the page no storage: then databases last as long as the worker. */
  readonly isDurable: boolean;
  /** Makes room for one more database; before `open`, which cannot wait. */
  reserve(): Promise<void>;
  exists(path: string): boolean;
  /** A closed or open database as the bytes of a SQLite file. @throws FormatError "file_missing" */
  exportFile(path: string): Uint8Array;
  /** Puts a SQLite file at a path, over what is there. @throws FormatError "store_file" when it is none */
  importFile(path: string, bytes: Uint8Array): Promise<void>;
  remove(path: string): void;
}

/** Where databases are kept: the pool in the origin's private file system, or memory. */
interface DatabaseFiles extends Omit<BrowserSqlite, "dialect" | "open"> {
  connect(path: string): Database;
  /** A connection is about to be closed. */
  closing(path: string, database: Database): void;
}

/** Slots of the pool per database: itself, its journal, a temporary file. */
const slotsPerDatabase = 3;
const poolOptions = {
  name: "leyden-sqlite",
  initialCapacity: 2 * slotsPerDatabase,
  preserveOnInitFailure: true,
  forceReinitIfPreviouslyFailed: true,
};
/** A tab that has just been closed or loaded anew may hold the pool a moment longer. */
const poolTries = 20;
const poolWaitMs = 150;

const advice: Record<number, string> = {
  5: "Another tab holds the database; close it.",
  11: "The file is damaged; restore it from a copy.",
  13: "Free some of the browser's storage, then resume.",
  14: "Reload the page.",
  26: "The file is not a SQLite database; choose another one.",
};

function sqlError(thrown: unknown, place: string): EnvironmentError {
  const resultCode = (thrown as { resultCode?: unknown } | null)?.resultCode;
  const primary = typeof resultCode === "number" ? resultCode & 0xff : 0;
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  return new EnvironmentError(primary === 13 ? "disk_full" : "sql_failed", `SQLite: ${reason} (${place}).`, {
    do: advice[primary] ?? "Report this with the statement.",
    cause: thrown,
    data: { place, resultCode },
  });
}

function attempt<T>(place: string, body: () => T): T {
  try {
    return body();
  } catch (thrown) {
    throw thrown instanceof EnvironmentError ? thrown : sqlError(thrown, place);
  }
}

function rowOf(statement: PreparedStatement): SqlRow {
  const row = statement.get({}) as SqlRow;
  for (const [name, value] of Object.entries(row)) {
    if (typeof value === "bigint") throw new RangeError(`the value of ${name}, ${value}, is too large for a number`);
  }
  return row;
}

/** A statement, reset after each use so that it holds no lock. */
function wrapStatement(
  sqlite: Sqlite3Static,
  database: Database,
  statement: PreparedStatement,
  sql: string,
): SqlStatement {
  const use = <T>(params: readonly SqlValue[], body: () => T): T =>
    attempt(sql, () => {
      try {
        if (params.length > 0) statement.bind([...params]);
        return body();
      } finally {
        statement.reset(true);
      }
    });
  return {
    run: (...params) =>
      use(params, () => {
        while (statement.step()) {
          // Rows of a RETURNING clause are not asked for.
        }
        const { pointer } = database;
        if (pointer === undefined) return { changes: 0, lastInsertRowid: 0 };
        const lastInsertRowid = Number(sqlite.capi.sqlite3_last_insert_rowid(pointer));
        return { changes: database.changes(), lastInsertRowid };
      }),
    get: (...params) => use(params, () => (statement.step() ? rowOf(statement) : undefined)),
    all: (...params) =>
      use(params, () => {
        const rows: SqlRow[] = [];
        while (statement.step()) rows.push(rowOf(statement));
        return rows;
      }),
  };
}

function wrapDatabase(sqlite: Sqlite3Static, database: Database, closing: () => void): SqlDatabase {
  const statements = new Set<PreparedStatement>();
  const exec = (sql: string): void => attempt(sql, () => void database.exec(sql));
  const isInTransaction = (): boolean =>
    database.pointer !== undefined && sqlite.capi.sqlite3_get_autocommit(database.pointer) === 0;
  return {
    exec,
    prepare(sql) {
      const statement = attempt(sql, () => database.prepare(sql));
      statements.add(statement);
      return wrapStatement(sqlite, database, statement, sql);
    },
    transaction(body) {
      exec("BEGIN IMMEDIATE");
      try {
        const result = body();
        exec("COMMIT");
        return result;
      } catch (thrown) {
        // SQLite has rolled back by itself after some faults (a full disk); then ROLLBACK only fails.
        if (isInTransaction()) exec("ROLLBACK");
        throw thrown;
      }
    },
    close() {
      if (!database.isOpen()) return;
      for (const statement of statements) statement.finalize();
      closing();
      database.close();
    },
  };
}

function missing(path: string): FormatError {
  return new FormatError("file_missing", `There is no database ${path}.`, { do: "Check the path." });
}

function noDatabase(path: string, cause?: unknown): FormatError {
  return new FormatError("store_file", `What was given as ${path} is no SQLite database.`, {
    do: "Choose the store.sqlite of a run.",
    cause,
  });
}

const magic = "SQLite format 3\0";

function requireDatabase(path: string, bytes: Uint8Array): void {
  if (new TextDecoder("latin1").decode(bytes.subarray(0, magic.length)) !== magic) throw noDatabase(path);
}

function poolFiles(pool: SAHPoolUtil): DatabaseFiles {
  const has = (path: string): boolean => pool.getFileNames().includes(absolutePath(path));
  return {
    isDurable: true,
    connect(path) {
      const database = new pool.OpfsSAHPoolDb(absolutePath(path));
      // One connection only, so that a write-ahead log needs no shared memory, which browsers do not offer here.
      database.exec("PRAGMA locking_mode = EXCLUSIVE");
      return database;
    },
    closing() {},
    async reserve() {
      await pool.reserveMinimumCapacity(Number(pool.getFileCount()) + slotsPerDatabase);
    },
    exists: has,
    exportFile(path) {
      if (!has(path)) throw missing(path);
      return attempt(`export ${path}`, () => pool.exportFile(absolutePath(path)));
    },
    async importFile(path, bytes) {
      requireDatabase(path, bytes);
      await pool.reserveMinimumCapacity(Number(pool.getFileCount()) + slotsPerDatabase);
      for (const suffix of ["-wal", "-journal"]) pool.unlink(absolutePath(path + suffix));
      try {
        await pool.importDb(absolutePath(path), bytes);
      } catch (cause) {
        throw noDatabase(path, cause);
      }
    },
    remove(path) {
      for (const suffix of ["", "-wal", "-journal"]) pool.unlink(absolutePath(path + suffix));
    },
  };
}

function memoryDatabases(sqlite: Sqlite3Static): DatabaseFiles {
  const { capi, wasm } = sqlite;
  const closed = new Map<string, Uint8Array>();
  const open = new Map<string, Database>();
  return {
    isDurable: false,
    connect(path) {
      const database = new sqlite.oo1.DB(":memory:");
      const bytes = closed.get(absolutePath(path));
      if (bytes !== undefined && database.pointer !== undefined) {
        const flags = capi.SQLITE_DESERIALIZE_FREEONCLOSE | capi.SQLITE_DESERIALIZE_RESIZEABLE;
        const data = wasm.allocFromTypedArray(bytes);
        const code = capi.sqlite3_deserialize(database.pointer, "main", data, bytes.length, bytes.length, flags);
        database.checkRc(code);
      }
      open.set(absolutePath(path), database);
      return database;
    },
    closing(path, database) {
      const place = absolutePath(path);
      if (open.get(place) !== database) return;
      closed.set(place, capi.sqlite3_js_db_export(database.pointer as NonNullable<typeof database.pointer>));
      open.delete(place);
    },
    async reserve() {},
    exists: (path) => open.has(absolutePath(path)) || closed.has(absolutePath(path)),
    exportFile(path) {
      const database = open.get(absolutePath(path));
      if (database?.pointer !== undefined) return capi.sqlite3_js_db_export(database.pointer);
      const bytes = closed.get(absolutePath(path));
      if (bytes === undefined) throw missing(path);
      return bytes.slice();
    },
    async importFile(path, bytes) {
      requireDatabase(path, bytes);
      const copy = bytes.slice();
      // Bytes 18 and 19 say "write-ahead log", which a database in memory has not.
      copy.fill(1, 18, 20);
      closed.set(absolutePath(path), copy);
    },
    remove: (path) => void closed.delete(absolutePath(path)),
  };
}

async function openPool(sqlite: Sqlite3Static, sleep: (ms: number) => Promise<void>): Promise<SAHPoolUtil> {
  for (let tries = 1; ; tries++) {
    try {
      return await sqlite.installOpfsSAHPoolVfs(poolOptions);
    } catch (cause) {
      if (tries < poolTries) await sleep(poolWaitMs);
      else {
        const message = `The browser's storage for databases could not be opened: ${(cause as Error).message}.`;
        throw new EnvironmentError("sql_failed", message, { do: "Close other tabs of this page, then reload.", cause });
      }
    }
  }
}

/**
 * SQLite compiled to WebAssembly, for a dedicated worker: databases lie in the origin's private file system, or in memory
 * where there is none.
 * @throws EnvironmentError "sql_failed" when the storage cannot be opened
 */
export async function openWasmSqlite(sleep: (ms: number) => Promise<void>): Promise<BrowserSqlite> {
  // Its own notes, such as that shared memory is missing, are nothing a person could act on.
  Object.assign(globalThis, { sqlite3ApiConfig: { debug() {}, log() {}, warn() {}, error() {} } });
  const sqlite = await init();
  const files = (await hasPrivateFiles()) ? poolFiles(await openPool(sqlite, sleep)) : memoryDatabases(sqlite);
  const { connect, closing, ...rest } = files;
  return {
    ...rest,
    dialect: "sqlite",
    open(path) {
      const isMemory = path === ":memory:";
      const database = attempt(`open ${path}`, () => (isMemory ? new sqlite.oo1.DB(":memory:") : connect(path)));
      return wrapDatabase(sqlite, database, () => {
        if (!isMemory) closing(path, database);
      });
    },
  };
}
