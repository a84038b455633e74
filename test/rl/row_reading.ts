import type { TrainRow } from "../../src/schema/engine.ts";

/** What a causal model can see at position `i` of a row, in order: token j is visible iff j <= i < end[j]. */
export function visibleContext(row: TrainRow, i: number): { ids: number[]; pos: number[] } {
  const ids: number[] = [];
  const pos: number[] = [];
  for (let j = 0; j <= i; j++) {
    const end = row.end === undefined ? row.ids.length : (row.end[j] as number);
    if (i >= end) continue;
    ids.push(row.ids[j] as number);
    pos.push(row.pos === undefined ? j : (row.pos[j] as number));
  }
  return { ids, pos };
}

/** One record spelled out: the tokens it is predicted from and everything it carries. */
export interface SpelledRecord {
  context: number[];
  target: number;
  weight: number;
  advantage: number;
  oldLogprob: number;
}

/**
 * The records of some rows, spelled out. A context determines the model's output, so two layouts with equal multisets
 * of spelled records have the same loss and gradient.
 * @throws Error when a context's positions are not 0, 1, 2, …
 */
export function spellRecords(rows: readonly TrainRow[]): SpelledRecord[] {
  return rows.flatMap((row) =>
    Array.from(row.src, (src, r) => {
      const { ids, pos } = visibleContext(row, src);
      if (pos.some((p, t) => p !== t)) throw new Error(`positions ${pos.join(",")} of the context ${ids.join(",")}`);
      return {
        context: ids,
        target: row.target[r] as number,
        weight: row.weight[r] as number,
        advantage: row.advantage[r] as number,
        oldLogprob: row.oldLogprob[r] as number,
      };
    }),
  );
}

/** Spelled records in a canonical order, as strings, to compare layouts. */
export function recordMultiset(rows: readonly TrainRow[]): string[] {
  return spellRecords(rows)
    .map((record) => JSON.stringify(record))
    .sort();
}
