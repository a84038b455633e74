import { dataIdOf, isTerminal, patchedRollout } from "../schema/rollout.ts";
import type { SqlRow } from "../schema/sql_driver.ts";
import type { RolloutQuery } from "../schema/store.ts";
import type { Rollout, RolloutStatus, StatusPatch, TerminalItem, TerminalPage } from "../schema/wire.ts";
import { rolloutMissing } from "./refusals.ts";
import type { SqlBodies } from "./sql_bodies.ts";
import type { SqlSession } from "./sql_session.ts";

/** The tables `rollouts` and `finished`. Inputs are kept by content: the rollouts of a group share one. */
export class SqlRollouts {
  private readonly session: SqlSession;
  private readonly bodies: SqlBodies;

  constructor(session: SqlSession, bodies: SqlBodies) {
    this.session = session;
    this.bodies = bodies;
  }

  get(id: string): Rollout | null {
    const row = this.session.get("SELECT * FROM rollouts WHERE id = ?", id);
    return row ? this.rollout(row) : null;
  }

  /** The attempt that the rollout's status names; null for none. @throws StoreError "rollout_not_found" */
  attemptOf(id: string): string | null {
    const row = this.session.get("SELECT status FROM rollouts WHERE id = ?", id);
    if (!row) throw rolloutMissing(id);
    return (JSON.parse(row.status as string) as RolloutStatus).last_attempt_id;
  }

  private rollout(row: SqlRow): Rollout {
    const hidden = row.hidden as number | null;
    return {
      rollout_id: row.id as string,
      input: JSON.parse(this.bodies.json(row.input as number)),
      ...JSON.parse(row.facts as string),
      status: JSON.parse(row.status as string),
      ...(hidden === null ? {} : { hidden: JSON.parse(this.bodies.json(hidden)) }),
    };
  }

  list({ states, limit }: RolloutQuery): Rollout[] {
    if (states?.length === 0) return [];
    const where = states ? `WHERE state IN (${states.map(() => "?").join(", ")})` : "";
    const sql = `SELECT * FROM rollouts ${where} ORDER BY seq`;
    const params = states ?? [];
    const rows =
      limit === undefined || limit < 0
        ? this.session.all(sql, ...params).slice(0, limit)
        : this.session.all(`${sql} LIMIT ?`, ...params, limit);
    return rows.map((row) => this.rollout(row));
  }

  /** Returns false when the id exists. */
  create(rollout: Rollout, seq: number): boolean {
    const { rollout_id: id, input, hidden, status, ...facts } = rollout;
    if (this.session.get("SELECT id FROM rollouts WHERE id = ?", id)) return false;
    this.session.run(
      "INSERT INTO rollouts (id, seq, state, input, hidden, facts, status) VALUES (?, ?, ?, ?, ?, ?, ?)",
      id,
      seq,
      status.state,
      this.bodies.put(JSON.stringify(input ?? null)),
      hidden === undefined ? null : this.bodies.put(JSON.stringify(hidden)),
      JSON.stringify(facts),
      JSON.stringify(status),
    );
    return true;
  }

  /** The rollout afterwards; null when the patch names no field. @throws StoreError "rollout_not_found", "illegal_transition" */
  patch(id: string, patch: StatusPatch, at: number): Rollout | null {
    const before = this.get(id);
    if (!before) throw rolloutMissing(id);
    const after = patchedRollout(before, patch, at);
    if (after === before) return null;
    const { status } = after;
    this.session.run(
      "UPDATE rollouts SET state = ?, status = ? WHERE id = ?",
      status.state,
      JSON.stringify(status),
      id,
    );
    if (isTerminal(status.state) && !isTerminal(before.status.state)) this.finish(after);
    return after;
  }

  private finish({ rollout_id: id, input, is_train: isTrain, status }: Rollout): void {
    this.session.run(
      `INSERT INTO finished (place, rollout_id, state, data_id, is_train, deleted)
       SELECT COALESCE(MAX(place), 0) + 1, ?, ?, ?, ?, 0 FROM finished`,
      id,
      status.state,
      dataIdOf(input),
      isTrain ? 1 : 0,
    );
  }

  /** Returns false when there is no such rollout. */
  remove(id: string): boolean {
    const row = this.session.get("SELECT input, hidden FROM rollouts WHERE id = ?", id);
    if (!row) return false;
    this.bodies.release([row.input, row.hidden].filter((body) => body !== null) as number[]);
    this.session.run("DELETE FROM rollouts WHERE id = ?", id);
    this.session.run("UPDATE finished SET deleted = 1 WHERE rollout_id = ?", id);
    return true;
  }

  terminal(after: number, limit: number): TerminalPage {
    const total = (this.session.get("SELECT COALESCE(MAX(place), 0) AS total FROM finished")?.total ?? 0) as number;
    const end = Math.max(after, Math.min(total, after + limit));
    const sql = "SELECT * FROM finished WHERE place > ? AND place <= ? AND deleted = 0 ORDER BY place";
    const items = this.session.all(sql, after, end).map(
      (row): TerminalItem => ({
        rollout_id: row.rollout_id as string,
        state: row.state as TerminalItem["state"],
        data_id: row.data_id as string,
        is_train: row.is_train === 1,
      }),
    );
    return { items, next_after: end, total_terminal: total };
  }
}
