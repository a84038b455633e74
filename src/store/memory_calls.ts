import type { CallRecord, Delivery } from "../schema/store.ts";
import { bodyReferences } from "./body_codec.ts";
import { type Chain, decodeCall, encodeCall, type StoredCall } from "./call_codec.ts";
import { ChainCache, chainOf } from "./chain_cache.ts";
import type { Journal } from "./journal.ts";
import { MemoryBodies } from "./memory_bodies.ts";
import { callMissing, callRecordedTwice, parentMissing } from "./refusals.ts";

/** The calls of a memory store, encoded against each other. */
export class MemoryCalls {
  readonly bodies: MemoryBodies = new MemoryBodies();
  private readonly byId = new Map<string, StoredCall>();
  private readonly cache = new ChainCache();
  private readonly journal: Journal;

  constructor(journal: Journal) {
    this.journal = journal;
  }

  /** Encodes and keeps a call; `last` is the attempt's latest one. */
  record(call: CallRecord, last: StoredCall | undefined): StoredCall {
    if (this.byId.has(call.id)) throw callRecordedTwice(call.id);
    const base = this.baseOf(call, last);
    const encoded = encodeCall(call, base && { id: base.id, chain: this.chain(base.id) }, this.bodies);
    const stored = { ...encoded.stored, facts: structuredClone(encoded.stored.facts) };
    this.byId.set(call.id, stored);
    this.cache.set(call.id, encoded.chain);
    this.journal.note(() => {
      this.byId.delete(call.id);
      this.cache.delete(call.id);
      for (const id of bodyReferences(stored.request)) this.bodies.release(id);
    });
    return stored;
  }

  private baseOf(call: CallRecord, last: StoredCall | undefined): StoredCall | null {
    if (call.parent === null) return last ?? null;
    const parent = this.byId.get(call.parent);
    if (parent?.rolloutId !== call.rolloutId || parent.attemptId !== call.attemptId) throw parentMissing(call);
    return parent;
  }

  private chain(id: string): Chain {
    return chainOf(id, (callId) => this.get(callId), this.cache, this.bodies);
  }

  /** @throws StoreError "call_not_found" */
  get(id: string): StoredCall {
    const call = this.byId.get(id);
    if (!call) throw callMissing(id);
    return call;
  }

  /** Returns false when the call stood there already. */
  deliver(id: string, delivery: Delivery): boolean {
    const call = this.get(id);
    const before = call.delivery;
    if (before === delivery) return false;
    call.delivery = delivery;
    this.journal.note(() => {
      call.delivery = before;
    });
    return true;
  }

  decode(call: StoredCall): CallRecord {
    const base = call.base === null ? null : this.chain(call.base);
    return decodeCall({ ...call, facts: structuredClone(call.facts) }, base, this.bodies).call;
  }

  remove(calls: readonly StoredCall[]): void {
    for (const call of calls) {
      const references = bodyReferences(call.request).map((id) => ({ id, json: this.bodies.json(id) }));
      this.byId.delete(call.id);
      this.cache.delete(call.id);
      for (const { id } of references) this.bodies.release(id);
      this.journal.note(() => {
        this.byId.set(call.id, call);
        for (const { id, json } of references) this.bodies.refer(id, json);
      });
    }
  }
}
