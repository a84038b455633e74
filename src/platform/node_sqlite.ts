// A default import, because Deno names the class Database as well and may drop the other name.
import sqlite, { type DatabaseSync, type StatementSync } from "node:sqlite";
import type { SqlDatabase, SqlDriver, SqlRow, SqlStatement, SqlValue } from "../schema/sql_driver.ts";
import { attemptSql, inTransaction, type SqliteFaults } from "./sqlite_faults.ts";

const { Database = sqlite.DatabaseSync } = sqlite as typeof sqlite & { Database?: typeof DatabaseSync };

/** How long a statement waits for another process' lock. */
const busyTimeoutMs = 5000;

const faults: SqliteFaults = {
  codeOf: (thrown) => (thrown as { errcode?: unknown } | null)?.errcode,
  advice: {
    5: "Another process holds the database; end it or wait.",
    8: "The database file or its folder is read-only; check its permissions.",
    11: "The file is damaged; restore it from a copy.",
    13: "The disk is full; free some space, then resume.",
    14: "Make the folder first, and check its permissions.",
    26: "The file is not a SQLite database; choose another path.",
  },
};

const attempt = <T>(place: string, body: () => T): T => attemptSql(faults, place, body);

function wrapStatement(statement: StatementSync, sql: string): SqlStatement {
  return {
    run: (...params: SqlValue[]) =>
      attempt(sql, () => {
        const { changes, lastInsertRowid } = statement.run(...params);
        return { changes: Number(changes), lastInsertRowid: Number(lastInsertRowid) };
      }),
    get: (...params: SqlValue[]) => attempt(sql, () => statement.get(...params) as SqlRow | undefined),
    all: (...params: SqlValue[]) => attempt(sql, () => statement.all(...params) as SqlRow[]),
  };
}

function wrapDatabase(database: DatabaseSync): SqlDatabase {
  let open = true;
  const exec = (sql: string) => attempt(sql, () => database.exec(sql));
  return {
    exec,
    prepare: (sql) =>
      wrapStatement(
        attempt(sql, () => database.prepare(sql)),
        sql,
      ),
    transaction: (body) => inTransaction(exec, () => database.isTransaction, body),
    close() {
      if (open) database.close();
      open = false;
    },
  };
}

/** SQLite through node:sqlite, in Node and in Deno. */
export const nodeSqlite: SqlDriver = {
  dialect: "sqlite",
  open: (path) => wrapDatabase(attempt(`open ${path}`, () => new Database(path, { timeout: busyTimeoutMs }))),
};
