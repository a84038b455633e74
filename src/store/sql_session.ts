import type { SqlDatabase, SqlRow, SqlStatement, SqlValue } from "../schema/sql_driver.ts";

/** A database with its statements compiled once. */
export class SqlSession {
  private readonly statements = new Map<string, SqlStatement>();
  private readonly database: SqlDatabase;

  constructor(database: SqlDatabase) {
    this.database = database;
  }

  /** Runs one or several statements, compiled for this time only. */
  exec(sql: string): void {
    this.database.exec(sql);
  }

  run(sql: string, ...params: readonly SqlValue[]): number {
    return this.statement(sql).run(...params).changes;
  }

  get(sql: string, ...params: readonly SqlValue[]): SqlRow | undefined {
    return this.statement(sql).get(...params);
  }

  all(sql: string, ...params: readonly SqlValue[]): SqlRow[] {
    return this.statement(sql).all(...params);
  }

  private statement(sql: string): SqlStatement {
    const known = this.statements.get(sql);
    if (known) return known;
    const made = this.database.prepare(sql);
    this.statements.set(sql, made);
    return made;
  }

  close(): void {
    this.statements.clear();
    this.database.close();
  }
}
