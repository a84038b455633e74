import { hashString } from "../core/rng.ts";
import type { Bodies } from "./body_codec.ts";
import type { SqlSession } from "./sql_session.ts";

/** 53 bits of a text, for finding it; equality is decided by the text itself. */
function hashOf(json: string): number {
  return hashString(json) * 2 ** 21 + (hashString(json, 0x9747b28c) >>> 11);
}

/** JSON texts by content with reference counts, in the table `bodies`. */
export class SqlBodies implements Bodies {
  private readonly session: SqlSession;

  constructor(session: SqlSession) {
    this.session = session;
  }

  put(json: string): number {
    const hash = hashOf(json);
    const known = this.session.get("SELECT id FROM bodies WHERE hash = ? AND json = ?", hash, json)?.id;
    if (known !== undefined) {
      this.session.run("UPDATE bodies SET refs = refs + 1 WHERE id = ?", known as number);
      return known as number;
    }
    const sql = "INSERT INTO bodies (hash, refs, json) VALUES (?, 1, ?) RETURNING id";
    return this.session.get(sql, hash, json)?.id as number;
  }

  json(id: number): string {
    return this.session.get("SELECT json FROM bodies WHERE id = ?", id)?.json as string;
  }

  /** Takes one reference away from each; a text goes with its last. */
  release(ids: readonly number[]): void {
    for (const id of ids) {
      this.session.run("UPDATE bodies SET refs = refs - 1 WHERE id = ?", id);
      this.session.run("DELETE FROM bodies WHERE id = ? AND refs <= 0", id);
    }
  }
}
