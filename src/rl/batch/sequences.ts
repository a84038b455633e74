import type { TrainRow } from "../../schema/engine.ts";
import type { Batch } from "./batch_input.ts";

/** Where one record of a unit stands: its row, its index there, and its index among all records of the batch. */
export interface RecordPlace {
  row: number;
  record: number;
  flat: number;
}

/** Records of one unit in the order its tokens were drawn: a sequence, as losses and corrections speak of one. */
export interface UnitSequence {
  unit: number;
  places: RecordPlace[];
}

/** Position in its text of a record's source token. */
function depth({ pos, src }: TrainRow, record: number): number {
  const at = src[record] as number;
  return pos?.[at] ?? at;
}

/** The sequences of all units that have records, units ascending; a unit may be spread over several rows. */
export function unitSequences({ rows, origins }: Pick<Batch, "rows" | "origins">): UnitSequence[] {
  const units = new Map<number, RecordPlace[]>();
  let flat = 0;
  for (const [i, row] of rows.entries()) {
    const origin = origins[i];
    for (let record = 0; record < row.src.length; record++, flat++) {
      const unit = origin?.calls[origin.call[record] as number]?.unit ?? -1;
      const places = units.get(unit);
      const place = { row: i, record, flat };
      if (places === undefined) units.set(unit, [place]);
      else places.push(place);
    }
  }
  const at = ({ row, record }: RecordPlace): number => depth(rows[row] as TrainRow, record);
  return [...units]
    .sort(([a], [b]) => a - b)
    .map(([unit, places]) => ({ unit, places: places.sort((a, b) => at(a) - at(b)) }));
}

/** One number per record of every sequence, (N, T). */
export function gather(
  sequences: readonly UnitSequence[],
  value: (place: RecordPlace, unit: number) => number,
): Float64Array[] {
  return sequences.map(({ unit, places }) => Float64Array.from(places, (place) => value(place, unit)));
}
