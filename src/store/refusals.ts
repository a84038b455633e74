/** Refusals that every store words alike. */
import type { CallRecord } from "../schema/store.ts";
import { StoreError } from "../schema/store_error.ts";

export function rolloutMissing(id: string): StoreError {
  return new StoreError("rollout_not_found", `Rollout not found: ${id}`, "");
}

export function callMissing(id: string): StoreError {
  return new StoreError("call_not_found", `Call ${id} is not recorded.`, "Record the call before its delivery.");
}

export function callRecordedTwice(id: string): StoreError {
  return new StoreError("duplicate_call", `Call ${id} is recorded already.`, "Give each call its own id.");
}

export function parentMissing(call: CallRecord): StoreError {
  const place = `attempt ${call.attemptId} of rollout ${call.rolloutId}`;
  return new StoreError(
    "call_not_found",
    `Call ${call.id} names the parent ${call.parent}, which ${place} does not have.`,
    "Name a recorded call of the same attempt, or no parent.",
  );
}

export function storeClosed(): StoreError {
  return new StoreError("store_closed", "The store is closed.", "Open it again.");
}
