// A default import, because Deno names the class Database as well and may drop the other name.
import sqlite, { type DatabaseSync, type StatementSync } from "node:sqlite";
import { EnvironmentError } from "../core/errors.ts";
import type { SqlDatabase, SqlDriver, SqlRow, SqlStatement, SqlValue } from "../schema/sql_driver.ts";

const { Database = sqlite.DatabaseSync } = sqlite as typeof sqlite & { Database?: typeof DatabaseSync };

/** How long a statement waits for another process' lock. */
const busyTimeoutMs = 5000;

const advice: Record<number, string> = {
  5: "Another process holds the database; end it or wait.",
  8: "The database file or its folder is read-only; check its permissions.",
  11: "The file is damaged; restore it from a copy.",
  13: "The disk is full; free some space, then resume.",
  14: "Make the folder first, and check its permissions.",
  26: "The file is not a SQLite database; choose another path.",
};

function sqlError(thrown: unknown, place: string): EnvironmentError {
  const errcode = (thrown as { errcode?: unknown } | null)?.errcode;
  const primary = typeof errcode === "number" ? errcode & 0xff : 0;
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  return new EnvironmentError(primary === 13 ? "disk_full" : "sql_failed", `SQLite: ${reason} (${place}).`, {
    do: advice[primary] ?? "Report this with the statement.",
    cause: thrown,
    data: { place, errcode },
  });
}

function attempt<T>(place: string, body: () => T): T {
  try {
    return body();
  } catch (thrown) {
    throw sqlError(thrown, place);
  }
}

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
    transaction(body) {
      exec("BEGIN IMMEDIATE");
      try {
        const result = body();
        exec("COMMIT");
        return result;
      } catch (thrown) {
        // SQLite has rolled back by itself after some faults (a full disk); then ROLLBACK only fails.
        if (database.isTransaction) exec("ROLLBACK");
        throw thrown;
      }
    },
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
