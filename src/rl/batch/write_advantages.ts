import type { Batch } from "./batch_input.ts";
import type { UnitSequence } from "./sequences.ts";
import { callName, type UnitAdvantages } from "./unit_advantages.ts";

/** Writes advantages that differ between the calls of a unit into a batch's rows. */
export function writeByCall({ rows, origins }: Batch, { calls }: UnitAdvantages): void {
  if (calls === null) return;
  for (const [i, row] of rows.entries()) {
    const origin = origins[i];
    for (let r = 0; r < row.src.length; r++) {
      const from = origin?.calls[origin.call[r] as number];
      row.advantage[r] = calls.get(callName(from?.rollout ?? "", from?.call ?? "")) as number;
    }
  }
}

/** Mean advantage over the records of each unit; 0 for those without any. */
export function unitMeans(batch: Batch, sequences: readonly UnitSequence[], units: number): number[] {
  const means = new Array<number>(units).fill(0);
  for (const { unit, places } of sequences) {
    const sum = places.reduce((s, { row, record }) => s + (batch.rows[row]?.advantage[record] as number), 0);
    means[unit] = sum / places.length;
  }
  return means;
}
