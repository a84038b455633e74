import type { Database, SAHPoolUtil, Sqlite3Static } from "@sqlite.org/sqlite-wasm";
import { EnvironmentError, FormatError } from "../core/errors.ts";
import { fullAdvice } from "./opfs_files.ts";
import { absolutePath } from "./path_segments.ts";

/** Databases as files: in the pool in the origin's private file system, or in memory. */
export interface DatabaseFiles {
  /** False where databases last as long as the worker. */
  readonly isDurable: boolean;
  /** Makes room for one more database; before it is connected to, which cannot wait. */
  reserve(): Promise<void>;
  exists(path: string): boolean;
  /** A closed or open database as the bytes of a SQLite file. @throws FormatError "file_missing" */
  exportFile(path: string): Uint8Array;
  /** Bytes of a closed or open database. @throws FormatError "file_missing" */
  sizeBytes(path: string): number;
  /**
   * Puts a SQLite file at a path, over what is there; `log` is the write-ahead log that a program which was killed has
   * left beside it, and which has what was written last.
   * @throws FormatError "store_file" when it is none
   */
  importFile(path: string, bytes: Uint8Array, log?: Uint8Array): Promise<void>;
  remove(path: string): void;
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

function missing(path: string): FormatError {
  return new FormatError("file_missing", `There is no database ${path}.`, { do: "Check the path." });
}

function noDatabase(path: string, cause?: unknown): FormatError {
  return new FormatError("store_file", `What was given as ${path} is no SQLite database.`, {
    do: "Choose the store.sqlite of a run.",
    cause,
  });
}

function full(path: string, cause: unknown): EnvironmentError {
  return new EnvironmentError("disk_full", `The browser's storage is full; ${path} was not written.`, {
    do: fullAdvice,
    cause,
  });
}

/**
 * True for what a pool throws where there is no more room: the browser's own error, or the pool's for a write cut short.
 */
function isFull(thrown: unknown): boolean {
  if (thrown instanceof DOMException) return thrown.name === "QuotaExceededError";
  return thrown instanceof Error && thrown.message.includes("Expected to write");
}

const magic = "SQLite format 3\0";

function requireDatabase(path: string, bytes: Uint8Array): void {
  if (new TextDecoder("latin1").decode(bytes.subarray(0, magic.length)) !== magic) throw noDatabase(path);
}

/** A database as the bytes of a file that needs no log beside it. */
function bytesOf({ capi }: Sqlite3Static, database: Database): Uint8Array {
  const { pointer } = database;
  if (pointer === undefined) throw new RangeError("the database is closed");
  return capi.sqlite3_js_db_export(pointer);
}

/** Puts a file into SQLite's own file system in memory, where nothing of ours stays. */
function putInMemory({ capi }: Sqlite3Static, name: string, bytes: Uint8Array): void {
  capi.sqlite3_js_posix_create_file(name, bytes);
}

/** A database with what stands in its write-ahead log, as one file: SQLite itself plays the log back. */
function withLog(sqlite: Sqlite3Static, path: string, bytes: Uint8Array, log: Uint8Array | undefined): Uint8Array {
  requireDatabase(path, bytes);
  if (log === undefined || log.length === 0) return bytes;
  const parts = [
    ["/arriving.sqlite", bytes],
    ["/arriving.sqlite-wal", log],
  ] as const;
  try {
    for (const [name, part] of parts) putInMemory(sqlite, name, part);
    const database = new sqlite.oo1.DB("/arriving.sqlite", "w");
    try {
      // Alone with the file, so that its log needs no shared memory; then without a log.
      database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE");
      return bytesOf(sqlite, database);
    } finally {
      database.close();
    }
  } catch (cause) {
    throw noDatabase(path, cause);
  } finally {
    for (const [name] of parts) putInMemory(sqlite, name, new Uint8Array());
  }
}

function sizeOf(database: Database): number {
  return Number(database.selectValue("PRAGMA page_count")) * Number(database.selectValue("PRAGMA page_size"));
}

/** Databases in the pool. */
export function poolFiles(sqlite: Sqlite3Static, pool: SAHPoolUtil): DatabaseFiles {
  const has = (path: string): boolean => pool.getFileNames().includes(absolutePath(path));
  const open = new Map<string, Database>();
  const opened = (path: string): Database => {
    const database = new pool.OpfsSAHPoolDb(absolutePath(path));
    // One connection only, so that a write-ahead log needs no shared memory, which browsers do not offer here.
    database.exec("PRAGMA locking_mode = EXCLUSIVE");
    return database;
  };
  // Through a connection, since what was written last may stand in the log beside the file.
  const asked = <T>(path: string, ask: (database: Database) => T): T => {
    if (!has(path)) throw missing(path);
    const known = open.get(absolutePath(path));
    if (known !== undefined) return ask(known);
    const database = opened(path);
    try {
      return ask(database);
    } finally {
      database.close();
    }
  };
  return {
    isDurable: true,
    connect(path) {
      const database = opened(path);
      open.set(absolutePath(path), database);
      return database;
    },
    closing(path, database) {
      if (open.get(absolutePath(path)) === database) open.delete(absolutePath(path));
    },
    async reserve() {
      await pool.reserveMinimumCapacity(Number(pool.getFileCount()) + slotsPerDatabase);
    },
    exists: has,
    exportFile: (path) => asked(path, (database) => bytesOf(sqlite, database)),
    sizeBytes: (path) => asked(path, sizeOf),
    async importFile(path, given, log) {
      const bytes = withLog(sqlite, path, given, log);
      try {
        await pool.reserveMinimumCapacity(Number(pool.getFileCount()) + slotsPerDatabase);
        for (const suffix of ["-wal", "-journal"]) pool.unlink(absolutePath(path + suffix));
        await pool.importDb(absolutePath(path), bytes);
      } catch (cause) {
        throw isFull(cause) ? full(path, cause) : noDatabase(path, cause);
      }
    },
    remove(path) {
      for (const suffix of ["", "-wal", "-journal"]) pool.unlink(absolutePath(path + suffix));
    },
  };
}

/** Databases in memory; a closed one is kept as the bytes of its file. */
export function memoryDatabases(sqlite: Sqlite3Static): DatabaseFiles {
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
      closed.set(place, bytesOf(sqlite, database));
      open.delete(place);
    },
    async reserve() {},
    exists: (path) => open.has(absolutePath(path)) || closed.has(absolutePath(path)),
    exportFile(path) {
      const database = open.get(absolutePath(path));
      if (database !== undefined) return bytesOf(sqlite, database);
      const bytes = closed.get(absolutePath(path));
      if (bytes === undefined) throw missing(path);
      return bytes.slice();
    },
    sizeBytes(path) {
      const database = open.get(absolutePath(path));
      const bytes = closed.get(absolutePath(path));
      if (database === undefined && bytes === undefined) throw missing(path);
      return database === undefined ? (bytes?.length ?? 0) : sizeOf(database);
    },
    async importFile(path, bytes, log) {
      const copy = withLog(sqlite, path, bytes, log).slice();
      // Bytes 18 and 19 say "write-ahead log", which a database in memory has not.
      copy.fill(1, 18, 20);
      closed.set(absolutePath(path), copy);
    },
    remove: (path) => void closed.delete(absolutePath(path)),
  };
}

/** Opens the pool of database files. @throws EnvironmentError "sql_failed" when another worker keeps it */
export async function openPool(sqlite: Sqlite3Static, sleep: (ms: number) => Promise<void>): Promise<SAHPoolUtil> {
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
