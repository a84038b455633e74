import { LeydenError } from "../core/errors.ts";
import type { TrainRow } from "../schema/engine.ts";
import type { MicroBatch } from "./micro_batches.ts";

/** What the value loss takes of each record of a micro-batch, (R) each. */
export interface ValueTargets {
  readonly oldValue: Float32Array;
  readonly returns: Float32Array;
}

/** Refuses rows that a value loss cannot be taken of. @throws LeydenError "train_row" */
export function requireValueTargets(rows: readonly TrainRow[]): void {
  const index = rows.findIndex(
    ({ src, oldValue, returns }) => oldValue?.length !== src.length || returns?.length !== src.length,
  );
  if (index === -1) return;
  throw new LeydenError("train_row", `Training row ${index} lacks a value or a return for some of its records.`, {
    do: "Give oldValue and returns one number per record, or train without a critic.",
    data: { row: index },
  });
}

/** Values and returns of a micro-batch's records. */
export function valueTargetsOf(rows: readonly TrainRow[], batch: MicroBatch): ValueTargets {
  const out = { oldValue: new Float32Array(batch.src.length), returns: new Float32Array(batch.src.length) };
  for (const { row, firstRecord } of batch.rows) {
    out.oldValue.set(rows[row]?.oldValue ?? [], firstRecord);
    out.returns.set(rows[row]?.returns ?? [], firstRecord);
  }
  return out;
}
