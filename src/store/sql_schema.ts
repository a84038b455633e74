import type { SqlDialect } from "./sql_dialect.ts";

/** Raised whenever a table changes; a store of another version is refused. */
export const storeVersion = 1;

/** The tables; every statement may run on a database that has them. */
export function tableStatements(dialect: SqlDialect): string[] {
  const { integer, real, blob, countedKey } = dialect;
  return [
    `CREATE TABLE IF NOT EXISTS store_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)`,
    leaseTable(dialect),
    `CREATE TABLE IF NOT EXISTS log (
      seq ${integer} PRIMARY KEY, type TEXT NOT NULL, rollout_id TEXT NOT NULL, at ${real} NOT NULL,
      name TEXT, data TEXT)`,
    `CREATE INDEX IF NOT EXISTS log_notes ON log (name, seq) WHERE type = 'experiment'`,
    `CREATE TABLE IF NOT EXISTS bodies (
      id ${countedKey}, hash ${integer} NOT NULL, refs ${integer} NOT NULL, json TEXT NOT NULL)`,
    `CREATE INDEX IF NOT EXISTS bodies_hash ON bodies (hash)`,
    `CREATE TABLE IF NOT EXISTS rollouts (
      id TEXT PRIMARY KEY, seq ${integer} NOT NULL, state TEXT NOT NULL,
      input ${integer} NOT NULL, hidden ${integer}, facts TEXT NOT NULL, status TEXT NOT NULL)`,
    `CREATE INDEX IF NOT EXISTS rollouts_state ON rollouts (state, seq)`,
    `CREATE TABLE IF NOT EXISTS finished (
      place ${integer} PRIMARY KEY, rollout_id TEXT NOT NULL, state TEXT NOT NULL, data_id TEXT NOT NULL,
      is_train ${integer} NOT NULL, deleted ${integer} NOT NULL)`,
    `CREATE INDEX IF NOT EXISTS finished_rollout ON finished (rollout_id)`,
    `CREATE TABLE IF NOT EXISTS events (
      seq ${integer} PRIMARY KEY, rollout_id TEXT NOT NULL, attempt_id TEXT NOT NULL, event_id TEXT,
      event_type TEXT NOT NULL, timestamp ${real} NOT NULL, data TEXT NOT NULL)`,
    `CREATE INDEX IF NOT EXISTS events_rollout ON events (rollout_id, attempt_id, seq)`,
    `CREATE UNIQUE INDEX IF NOT EXISTS events_id ON events (rollout_id, event_id)`,
    `CREATE TABLE IF NOT EXISTS calls (
      seq ${integer} PRIMARY KEY, id TEXT NOT NULL UNIQUE, rollout_id TEXT NOT NULL, attempt_id TEXT NOT NULL,
      base TEXT, shared ${integer} NOT NULL, new_ids ${blob} NOT NULL, reply_ids ${blob} NOT NULL,
      logprobs ${blob} NOT NULL, version_runs TEXT NOT NULL, request TEXT NOT NULL, response TEXT NOT NULL,
      places TEXT NOT NULL, facts TEXT NOT NULL, delivery TEXT NOT NULL)`,
    `CREATE INDEX IF NOT EXISTS calls_rollout ON calls (rollout_id, attempt_id, seq)`,
    `CREATE TABLE IF NOT EXISTS failures (seq ${integer} PRIMARY KEY, rollout_id TEXT NOT NULL, json TEXT NOT NULL)`,
    `CREATE INDEX IF NOT EXISTS failures_rollout ON failures (rollout_id, seq)`,
    ...summaryStatements(dialect, "TABLE"),
  ];
}

/**
 * One line per rollout, folded from its events as they come, for tables of many rollouts; it holds nothing that cannot be
 * folded again. `kind`: a reader beside a store that lacks it makes one of its own.
 */
export function summaryStatements({ integer, real }: SqlDialect, kind: "TABLE" | "TEMP TABLE"): string[] {
  const index = `CREATE INDEX IF NOT EXISTS summaries_group ON summaries (task_group)`;
  return [
    `CREATE ${kind} IF NOT EXISTS summaries (
      rollout_id TEXT PRIMARY KEY, seq ${integer} NOT NULL, state TEXT NOT NULL, mode TEXT NOT NULL,
      task TEXT NOT NULL, task_group TEXT NOT NULL, agents TEXT NOT NULL, reward ${real},
      calls ${integer} NOT NULL, tokens ${integer} NOT NULL, breaks ${integer} NOT NULL, updated ${real} NOT NULL,
      words TEXT NOT NULL, folded TEXT NOT NULL)`,
    ...(kind === "TABLE" ? [index] : []),
  ];
}

/** The table of who may write: a database with nothing else needs no other. */
export function leaseTable({ integer, real }: SqlDialect): string {
  return `CREATE TABLE IF NOT EXISTS lease (
      id ${integer} PRIMARY KEY, epoch ${integer} NOT NULL, owner TEXT NOT NULL, renewed_at ${real} NOT NULL)`;
}
