import type { SqlRow } from "../schema/sql_driver.ts";
import type { CallRecord, Delivery } from "../schema/store.ts";
import { bodyReferences } from "./body_codec.ts";
import { type Chain, decodeCall, encodeCall, type StoredCall } from "./call_codec.ts";
import { ChainCache, chainOf } from "./chain_cache.ts";
import { callMissing, callRecordedTwice, parentMissing } from "./refusals.ts";
import type { SqlBodies } from "./sql_bodies.ts";
import type { SqlSession } from "./sql_session.ts";

function bytesOf(values: Int32Array | Float32Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

/** A copy, since a blob need not begin at a multiple of four bytes. */
function bufferOf(blob: unknown): ArrayBuffer {
  return (blob as Uint8Array).slice().buffer as ArrayBuffer;
}

function storedCall(row: SqlRow): StoredCall {
  return {
    id: row.id as string,
    rolloutId: row.rollout_id as string,
    attemptId: row.attempt_id as string,
    base: row.base as string | null,
    shared: row.shared as number,
    newIds: new Int32Array(bufferOf(row.new_ids)),
    replyIds: new Int32Array(bufferOf(row.reply_ids)),
    logprobs: new Float32Array(bufferOf(row.logprobs)),
    versionRuns: JSON.parse(row.version_runs as string),
    request: JSON.parse(row.request as string),
    response: row.response as string,
    places: JSON.parse(row.places as string),
    facts: JSON.parse(row.facts as string),
    delivery: row.delivery as Delivery,
  };
}

const insertCall = `INSERT INTO calls (seq, id, rollout_id, attempt_id, base, shared, new_ids, reply_ids, logprobs,
  version_runs, request, response, places, facts, delivery) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/**
 * The table `calls`. What the cache holds of a call that was rolled back does no harm: only stored calls are looked up,
 * and storing one sets its entry.
 */
export class SqlCalls {
  private readonly session: SqlSession;
  private readonly bodies: SqlBodies;
  private readonly cache = new ChainCache();

  constructor(session: SqlSession, bodies: SqlBodies) {
    this.session = session;
    this.bodies = bodies;
  }

  record(call: CallRecord, seq: number): void {
    if (this.session.get("SELECT id FROM calls WHERE id = ?", call.id)) throw callRecordedTwice(call.id);
    const base = this.baseOf(call);
    const { stored, chain } = encodeCall(
      call,
      base === null ? null : { id: base, chain: this.chain(base) },
      this.bodies,
    );
    this.session.run(
      insertCall,
      seq,
      stored.id,
      stored.rolloutId,
      stored.attemptId,
      stored.base,
      stored.shared,
      bytesOf(stored.newIds),
      bytesOf(stored.replyIds),
      bytesOf(stored.logprobs),
      JSON.stringify(stored.versionRuns),
      JSON.stringify(stored.request),
      stored.response,
      JSON.stringify(stored.places),
      JSON.stringify(stored.facts),
      stored.delivery,
    );
    this.cache.set(call.id, chain);
  }

  /** The id of the call that this one is stored against. */
  private baseOf({ rolloutId, attemptId, parent, ...call }: CallRecord): string | null {
    if (parent === null) {
      const sql = "SELECT id FROM calls WHERE rollout_id = ? AND attempt_id = ? ORDER BY seq DESC LIMIT 1";
      return (this.session.get(sql, rolloutId, attemptId)?.id ?? null) as string | null;
    }
    const row = this.session.get("SELECT rollout_id, attempt_id FROM calls WHERE id = ?", parent);
    if (row?.rollout_id === rolloutId && row.attempt_id === attemptId) return parent;
    throw parentMissing({ ...call, rolloutId, attemptId, parent });
  }

  private chain(id: string): Chain {
    return chainOf(id, (callId) => this.load(callId), this.cache, this.bodies);
  }

  private load(id: string): StoredCall {
    const row = this.session.get("SELECT * FROM calls WHERE id = ?", id);
    if (!row) throw callMissing(id);
    return storedCall(row);
  }

  /** @throws StoreError "call_not_found" */
  rolloutOf(id: string): string {
    const row = this.session.get("SELECT rollout_id FROM calls WHERE id = ?", id);
    if (!row) throw callMissing(id);
    return row.rollout_id as string;
  }

  /** Returns false when the call stood there already. */
  deliver(id: string, delivery: Delivery): boolean {
    this.rolloutOf(id);
    return this.session.run("UPDATE calls SET delivery = ? WHERE id = ? AND delivery <> ?", delivery, id, delivery) > 0;
  }

  /** Calls with their sequence numbers, in order. */
  list(rolloutId: string, attemptId?: string): { seq: number; call: CallRecord }[] {
    const rows =
      attemptId === undefined
        ? this.session.all("SELECT * FROM calls WHERE rollout_id = ? ORDER BY seq", rolloutId)
        : this.session.all(
            "SELECT * FROM calls WHERE rollout_id = ? AND attempt_id = ? ORDER BY seq",
            rolloutId,
            attemptId,
          );
    const chains = new Map<string, Chain>();
    return rows.map((row) => {
      const stored = storedCall(row);
      const base = stored.base === null ? null : (chains.get(stored.base) ?? this.chain(stored.base));
      const { call, chain } = decodeCall(stored, base, this.bodies);
      chains.set(stored.id, chain);
      return { seq: row.seq as number, call };
    });
  }

  /** Deletes a rollout's calls and the bodies that only they refer to. */
  remove(rolloutId: string): void {
    for (const row of this.session.all("SELECT id, request FROM calls WHERE rollout_id = ?", rolloutId)) {
      this.bodies.release(bodyReferences(JSON.parse(row.request as string)));
      this.cache.delete(row.id as string);
    }
    this.session.run("DELETE FROM calls WHERE rollout_id = ?", rolloutId);
  }
}
