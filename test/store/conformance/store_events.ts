import type { CallRecord, Store, StoreEvent } from "../../../src/schema/store.ts";
import type { StatusPatch } from "../../../src/schema/wire.ts";
import { event, rollout } from "../samples.ts";

/** Makes an empty store. */
export type OpenStore = () => Promise<Store>;

/** A test body that gets an empty store, closed afterwards. */
export function withStore(open: OpenStore, body: (store: Store) => Promise<void>): () => Promise<void> {
  return async () => {
    const store = await open();
    try {
      await body(store);
    } finally {
      await store.close();
    }
  };
}

export const created = (id: string): StoreEvent => ({ type: "rollout_created", rollout: rollout(id) });

export const patched = (rolloutId: string, patch: StatusPatch): StoreEvent => ({
  type: "rollout_patched",
  rolloutId,
  patch,
  at: 2000,
});

export const deleted = (rolloutId: string): StoreEvent => ({ type: "rollout_deleted", rolloutId, at: 3000 });

export const posted = (rolloutId: string, type: string, data = {}, eventId?: string): StoreEvent => ({
  type: "event_posted",
  event: event(rolloutId, type, data),
  eventId,
});

export const recorded = (record: CallRecord): StoreEvent => ({ type: "call_recorded", call: record });
