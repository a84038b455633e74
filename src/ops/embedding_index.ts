import { IndexError } from "../core/errors.ts";
import type { PlanInputs } from "../gpu/plan.ts";
import type { PlanValues } from "../gpu/plan_values.ts";

/** Where each distinct id occurs: uniq[u] at order[off[u]..off[u+1]), ids and occurrences ascending. */
export interface EmbeddingIndex {
  /** (U) */
  readonly uniq: Uint32Array;
  /** (U+1) */
  readonly off: Uint32Array;
  /** (T) */
  readonly order: Uint32Array;
}

/** The index that the embedding's gradient needs, made on the host. */
export function embeddingIndex(ids: ArrayLike<number>): EmbeddingIndex {
  const order = Uint32Array.from({ length: ids.length }, (_, t) => t);
  order.sort((a, b) => (ids[a] as number) - (ids[b] as number) || a - b);
  const uniq: number[] = [];
  const off: number[] = [];
  for (const [k, t] of order.entries()) {
    if (k > 0 && ids[t] === uniq.at(-1)) continue;
    uniq.push(ids[t] as number);
    off.push(k);
  }
  off.push(order.length);
  return { uniq: Uint32Array.from(uniq), off: Uint32Array.from(off), order };
}

/**
 * What a replay must be given when `embedding.backward` made its own plan inputs: indices of ids, and of positions for
 * a model that learns them.
 */
export function embeddingIndexInputs(
  ids: ArrayLike<number>,
  pos?: ArrayLike<number>,
): { values: PlanValues; inputs: PlanInputs } {
  const values: Record<string, number> = {};
  const inputs: Record<string, Uint32Array> = {};
  for (const [prefix, of] of [["embedding", ids] as const, ["positions", pos] as const]) {
    if (of === undefined) continue;
    const index = embeddingIndex(of);
    values[`${prefix}.U`] = index.uniq.length;
    for (const [name, data] of Object.entries(index)) inputs[`${prefix}.${name}`] = data;
  }
  return { values, inputs };
}

/** @throws IndexError when an entry is not an integer in [0, limit): the device would read another row silently. */
export function requireIndices(place: string, entries: ArrayLike<number>, limit: number, advice: string): void {
  for (let i = 0; i < entries.length; i++) {
    const value = entries[i] as number;
    if (!Number.isInteger(value) || value < 0 || value >= limit) throw new IndexError(place, i, value, limit, advice);
  }
}
