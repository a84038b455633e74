import init, { type Database, type PreparedStatement, type Sqlite3Static } from "@sqlite.org/sqlite-wasm";
import type { SqlDatabase, SqlDriver, SqlRow, SqlStatement, SqlValue } from "../schema/sql_driver.ts";
import { hasPrivateFiles } from "./browser_files.ts";
import { fullAdvice } from "./opfs_files.ts";
import { attemptSql, inTransaction, type SqliteFaults } from "./sqlite_faults.ts";
import { type DatabaseFiles, memoryDatabases, openPool, poolFiles } from "./wasm_sqlite_files.ts";

/** SQLite in a browser: its files lie in a pool of their own, outside what Files shows. */
export type BrowserSqlite = SqlDriver & Omit<DatabaseFiles, "connect" | "closing">;

const faults: SqliteFaults = {
  codeOf: (thrown) => (thrown as { resultCode?: unknown } | null)?.resultCode,
  advice: {
    5: "Another tab holds the database; close it.",
    11: "The file is damaged; restore it from a copy.",
    13: fullAdvice,
    14: "Reload the page.",
    26: "The file is not a SQLite database; choose another one.",
  },
};

const attempt = <T>(place: string, body: () => T): T => attemptSql(faults, place, body);

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
    transaction: (body) => inTransaction(exec, isInTransaction, body),
    close() {
      if (!database.isOpen()) return;
      for (const statement of statements) statement.finalize();
      closing();
      database.close();
    },
  };
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
  const files = (await hasPrivateFiles()) ? poolFiles(sqlite, await openPool(sqlite, sleep)) : memoryDatabases(sqlite);
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
