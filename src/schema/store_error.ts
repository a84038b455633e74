import { LeydenError } from "../core/errors.ts";

/**
 * Why a store refused. rollout_not_found, illegal_transition, duplicate_call, call_not_found, parent_mismatch,
 * call_malformed: the batch contradicts what is stored or itself, and none of it was written. store_in_use,
 * store_fenced: another process owns the store. store_write: the disk or database failed. store_closed,
 * store_read_only, store_version: wrong use.
 */
export type StoreErrorCode =
  | "rollout_not_found"
  | "illegal_transition"
  | "duplicate_call"
  | "call_not_found"
  | "parent_mismatch"
  | "call_malformed"
  | "store_in_use"
  | "store_fenced"
  | "store_write"
  | "store_closed"
  | "store_read_only"
  | "store_version";

/** A store could not do what was asked; `code` is one of StoreErrorCode. */
export class StoreError extends LeydenError {
  constructor(code: StoreErrorCode, message: string, advice: string, cause?: unknown) {
    super(code, `${message} ${advice}`.trim(), { do: advice, cause }, 2);
  }
}
