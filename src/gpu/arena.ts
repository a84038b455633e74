import { alignUp } from "../core/shape.ts";

/** One temporary of a plan: its size and the first and last dispatch that touches it. */
export interface Slot {
  readonly bytes: number;
  first: number;
  last: number;
}

/** Where each slot lies, and the bytes the arena needs. */
export interface ArenaLayout {
  readonly offsets: readonly number[];
  readonly totalBytes: number;
}

/**
 * Places slots so that two that are alive at the same dispatch never overlap: largest first, each at the lowest offset
 * that is free for its whole life (greedy by size; Pisarchyk & Lee 2020, arXiv:2001.03288).
 */
export function layOutArena(slots: readonly Slot[], alignment: number): ArenaLayout {
  const order = slots.map((_, i) => i).sort((a, b) => (slots[b] as Slot).bytes - (slots[a] as Slot).bytes || a - b);
  const offsets = new Array<number>(slots.length).fill(0);
  const placed: number[] = [];
  let totalBytes = 0;
  for (const i of order) {
    const slot = slots[i] as Slot;
    const overlapping = placed
      .filter((j) => (slots[j] as Slot).first <= slot.last && (slots[j] as Slot).last >= slot.first)
      .sort((a, b) => (offsets[a] as number) - (offsets[b] as number));
    let at = 0;
    for (const j of overlapping) {
      const start = offsets[j] as number;
      if (at + slot.bytes <= start) break;
      at = Math.max(at, alignUp(start + (slots[j] as Slot).bytes, alignment));
    }
    offsets[i] = at;
    placed.push(i);
    totalBytes = Math.max(totalBytes, at + slot.bytes);
  }
  return { offsets, totalBytes };
}
