import type { Rng } from "../../src/core/rng.ts";

/** Which earlier rows each row sees, as explicit lists; `end` is the same as the operation takes it. */
export interface Visibility {
  readonly end: Uint32Array;
  readonly seen: readonly (readonly number[])[];
}

/** Shape of packed rows [q heads | k heads | v heads]. */
export interface Heads {
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly scale: number;
}

/** Sequences packed one after another, each seeing its own past. */
export function packed(lengths: readonly number[]): Visibility {
  const seen: number[][] = [];
  const end: number[] = [];
  for (const length of lengths) {
    const start = seen.length;
    for (let i = 0; i < length; i++) {
      end.push(start + length);
      seen.push(Array.from({ length: i + 1 }, (_, j) => start + j));
    }
  }
  return { end: Uint32Array.from(end), seen };
}

/** A random forest in depth-first order: every row's parent is an open ancestor of the row before it, or none. */
export function randomForest(rows: number, rng: Rng): Visibility {
  const parents: number[] = [];
  const open: number[] = [];
  const end = new Uint32Array(rows).fill(rows);
  for (let i = 0; i < rows; i++) {
    // Mostly a chain; now and then back to an ancestor, rarely a new root.
    if (i > 0 && rng.uniform() < 0.15) {
      const keep = rng.uniform() < 0.2 ? 0 : rng.below(open.length + 1);
      for (const closed of open.splice(keep)) end[closed] = i;
    }
    parents.push(open.at(-1) ?? -1);
    open.push(i);
  }
  const seen = parents.map((_, i) => {
    const path: number[] = [];
    for (let j = i; j >= 0; j = parents[j] as number) path.unshift(j);
    return path;
  });
  return { end, seen };
}

interface Row {
  readonly i: number;
  readonly head: number;
  readonly weights: Float64Array;
  readonly seen: readonly number[];
}

function softmaxRow(qkv: ArrayLike<number>, s: Heads, i: number, head: number, seen: readonly number[]): Row {
  const at = offsets(s);
  const scores = seen.map((j) => {
    let sum = 0;
    for (let d = 0; d < s.headDim; d++) sum += (qkv[at.q(i, head) + d] as number) * (qkv[at.k(j, head) + d] as number);
    return sum * s.scale;
  });
  const top = Math.max(...scores);
  const weights = Float64Array.from(scores, (x) => Math.exp(x - top));
  const total = weights.reduce((a, b) => a + b, 0);
  return { i, head, weights: weights.map((w) => w / total), seen };
}

function offsets({ heads, kvHeads, headDim }: Heads): Record<"q" | "k" | "v" | "o", (i: number, h: number) => number> {
  const stride = (heads + 2 * kvHeads) * headDim;
  const shared = heads / kvHeads;
  return {
    q: (i, h) => i * stride + h * headDim,
    k: (i, h) => i * stride + (heads + Math.floor(h / shared)) * headDim,
    v: (i, h) => i * stride + (heads + kvHeads + Math.floor(h / shared)) * headDim,
    o: (i, h) => (i * heads + h) * headDim,
  };
}

function* rowsOf(qkv: ArrayLike<number>, s: Heads, seen: Visibility["seen"]): Generator<Row> {
  for (const [i, list] of seen.entries()) {
    for (let h = 0; h < s.heads; h++) yield softmaxRow(qkv, s, i, h, list);
  }
}

/** o (T,H*D) in float64 by explicit lists of visible rows. */
export function attentionReference(qkv: ArrayLike<number>, s: Heads, seen: Visibility["seen"]): Float64Array {
  const at = offsets(s);
  const o = new Float64Array(seen.length * s.heads * s.headDim);
  for (const row of rowsOf(qkv, s, seen)) {
    for (const [n, j] of row.seen.entries()) {
      for (let d = 0; d < s.headDim; d++) {
        const term = (row.weights[n] as number) * (qkv[at.v(j, row.head) + d] as number);
        o[at.o(row.i, row.head) + d] = (o[at.o(row.i, row.head) + d] as number) + term;
      }
    }
  }
  return o;
}

/** dqkv (T,(H+2KV)*D) in float64 for a given gradient of o. */
export function attentionGradient(
  qkv: ArrayLike<number>,
  s: Heads,
  seen: Visibility["seen"],
  dO: ArrayLike<number>,
): Float64Array {
  const at = offsets(s);
  const out = new Float64Array(qkv.length);
  const add = (i: number, value: number): void => {
    out[i] = (out[i] as number) + value;
  };
  for (const { i, head, weights, seen: list } of rowsOf(qkv, s, seen)) {
    const g = (d: number): number => dO[at.o(i, head) + d] as number;
    const dp = list.map((j) => {
      let sum = 0;
      for (let d = 0; d < s.headDim; d++) sum += g(d) * (qkv[at.v(j, head) + d] as number);
      return sum;
    });
    const mean = dp.reduce((sum, x, n) => sum + x * (weights[n] as number), 0);
    for (const [n, j] of list.entries()) {
      const p = weights[n] as number;
      const ds = p * ((dp[n] as number) - mean) * s.scale;
      for (let d = 0; d < s.headDim; d++) {
        add(at.q(i, head) + d, ds * (qkv[at.k(j, head) + d] as number));
        add(at.k(j, head) + d, ds * (qkv[at.q(i, head) + d] as number));
        add(at.v(j, head) + d, p * g(d));
      }
    }
  }
  return out;
}
