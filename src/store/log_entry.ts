import type { LogEntry, StoreEvent } from "../schema/store.ts";

/** An event's line in the log: what happened to which rollout, without the payload that the views hold. */
export function logEntry(event: StoreEvent, seq: number, rolloutOfCall: (callId: string) => string): LogEntry {
  const { type } = event;
  switch (type) {
    case "rollout_created":
      return { seq, type, rolloutId: event.rollout.rollout_id, at: event.rollout.status.created_at };
    case "rollout_patched":
      return { seq, type, rolloutId: event.rolloutId, at: event.at, data: event.patch };
    case "rollout_deleted":
      return { seq, type, rolloutId: event.rolloutId, at: event.at };
    case "event_posted": {
      const { rollout_id: rolloutId, timestamp: at, event_type: name } = event.event;
      return { seq, type, rolloutId, at, name };
    }
    case "call_recorded":
      return { seq, type, rolloutId: event.call.rolloutId, at: event.call.timestamp, name: event.call.id };
    case "call_delivery":
      return {
        seq,
        type,
        rolloutId: rolloutOfCall(event.callId),
        at: event.at,
        name: event.callId,
        data: event.delivery,
      };
    case "call_failed":
      return { seq, type, rolloutId: event.failure.rolloutId, at: event.failure.timestamp, name: event.failure.code };
    case "experiment":
      return { seq, type, rolloutId: "", at: event.at, name: event.name, data: event.data };
  }
}
