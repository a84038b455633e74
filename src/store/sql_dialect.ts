/** How one database's SQL differs; everything else is written in the part they share. */
export interface SqlDialect {
  /** Column types. */
  readonly integer: string;
  readonly real: string;
  readonly blob: string;
  /** An integer primary key that the database counts up. */
  readonly countedKey: string;
  /** To run once after opening. `full`: survive the loss of power too, not only of the process. */
  opening(full: boolean): string[];
  readonly begin: string;
  /** True where the text in a column holds the parameter. */
  contains(column: string): string;
}

/** By the driver's name. */
export const dialects: { readonly sqlite: SqlDialect } = {
  sqlite: {
    integer: "INTEGER",
    real: "REAL",
    blob: "BLOB",
    countedKey: "INTEGER PRIMARY KEY",
    opening: (full) => ["PRAGMA journal_mode = WAL", `PRAGMA synchronous = ${full ? "FULL" : "NORMAL"}`],
    // Takes the write lock at once, so that a transaction cannot fail half-way for another writer.
    begin: "BEGIN IMMEDIATE",
    contains: (column) => `instr(${column}, ?) > 0`,
  },
};
