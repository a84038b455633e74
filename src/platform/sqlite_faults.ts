import { EnvironmentError } from "../core/errors.ts";

/** How a build of SQLite reports faults, and what to do about them. */
export interface SqliteFaults {
  /** Its result code (https://sqlite.org/rescode.html) in something thrown; undefined when it is none of SQLite's. */
  codeOf(thrown: unknown): unknown;
  /** What to do, by primary result code. */
  readonly advice: Readonly<Record<number, string>>;
}

/** Codes of SQLITE_CORRUPT, SQLITE_FULL and SQLITE_NOTADB, which have a code of their own here. */
const codes: Readonly<Record<number, string>> = { 11: "sql_damaged", 13: "disk_full", 26: "sql_damaged" };

/**
 * Runs a statement, or what else `place` says.
 * @throws EnvironmentError "disk_full", "sql_damaged" or "sql_failed" for whatever SQLite throws
 */
export function attemptSql<T>(faults: SqliteFaults, place: string, body: () => T): T {
  try {
    return body();
  } catch (thrown) {
    if (thrown instanceof EnvironmentError) throw thrown;
    const resultCode = faults.codeOf(thrown);
    const primary = typeof resultCode === "number" ? resultCode & 0xff : 0;
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new EnvironmentError(codes[primary] ?? "sql_failed", `SQLite: ${reason} (${place}).`, {
      do: faults.advice[primary] ?? "Report this with the statement.",
      cause: thrown,
      data: { place, resultCode },
    });
  }
}

/** Runs `body` between BEGIN IMMEDIATE and COMMIT; what it throws rolls back. */
export function inTransaction<T>(exec: (sql: string) => void, isOpen: () => boolean, body: () => T): T {
  exec("BEGIN IMMEDIATE");
  try {
    const result = body();
    exec("COMMIT");
    return result;
  } catch (thrown) {
    // SQLite has rolled back by itself after some faults (a full disk); then ROLLBACK only fails.
    if (isOpen()) exec("ROLLBACK");
    throw thrown;
  }
}
