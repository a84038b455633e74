/** A value in a row or a parameter; booleans and undefined are the caller's to convert. */
export type SqlValue = null | number | bigint | string | Uint8Array;

/** One row by column name. Integers past 2^53 are an error of the driver, never rounded. */
export type SqlRow = Record<string, SqlValue>;

/** What a statement changed. */
export interface SqlRunResult {
  changes: number;
  lastInsertRowid: number;
}

/** A compiled statement; parameters are positional (`?`) and may be given anew on each call. */
export interface SqlStatement {
  run(...params: readonly SqlValue[]): SqlRunResult;
  /** The first row, or undefined when there is none. */
  get(...params: readonly SqlValue[]): SqlRow | undefined;
  all(...params: readonly SqlValue[]): SqlRow[];
}

/** An open database, used by one thread. */
export interface SqlDatabase {
  /** One or more statements without parameters or results. */
  exec(sql: string): void;
  prepare(sql: string): SqlStatement;
  /** Runs `body` between BEGIN IMMEDIATE and COMMIT; a throw rolls back and goes on to the caller. Does not nest. */
  transaction<T>(body: () => T): T;
  /** Ends the use; a second call has no effect. */
  close(): void;
}

/** Opens databases; synchronous, so that one tick's writes are one transaction. */
export interface SqlDriver {
  /** The SQL the statements are written in. */
  readonly dialect: "sqlite";
  /** `path` is a file, or ":memory:". @throws EnvironmentError "sql_failed" when it cannot be opened */
  open(path: string): SqlDatabase;
}
