import type { Sampling } from "../schema/engine.ts";

/** The likeliest tokens of one place, most likely first; ids -1 past the last one that could be drawn. */
export interface Alternatives {
  readonly ids: Int32Array;
  readonly logprobs: Float32Array;
}

/** The token that was drawn and its log-probability. */
interface Drawn {
  readonly id: number;
  readonly logprob: number;
}

/**
 * The `count` likeliest tokens of the distribution that a token was drawn from. `logits` are those it was drawn from;
 * the drawn token's log-probability gives the logarithm of their normaliser. Truncation as shaders/sample.wgsl states
 * it; temperature 0 reports the distribution at temperature 1. Float64.
 */
export function topLogprobs(logits: Float32Array, drawn: Drawn, sampling: Sampling, count: number): Alternatives {
  const { temperature } = sampling;
  const inverse = temperature === 0 ? 1 : 1 / Math.fround(temperature);
  const order = largest(logits, count);
  const kept = temperature === 0 ? order.length : keptOf(logits, order, inverse, sampling);
  const base = logits[drawn.id] as number;
  const ids = new Int32Array(count).fill(-1);
  const logprobs = new Float32Array(count).fill(Number.NEGATIVE_INFINITY);
  for (const [r, id] of order.slice(0, kept).entries()) {
    ids[r] = id;
    logprobs[r] = id === drawn.id ? drawn.logprob : ((logits[id] as number) - base) * inverse + drawn.logprob;
  }
  return { ids, logprobs };
}

/** Ids of the `count` largest finite logits, in descending order, equal ones by id. */
function largest(logits: Float32Array, count: number): number[] {
  const ids: number[] = [];
  let least = Number.NEGATIVE_INFINITY;
  for (let id = 0; id < logits.length; id++) {
    const value = logits[id] as number;
    if (value <= least) continue;
    let at = ids.length;
    while (at > 0 && (logits[ids[at - 1] as number] as number) < value) at--;
    ids.splice(at, 0, id);
    if (ids.length > count) ids.pop();
    if (ids.length === count) least = logits[ids[count - 1] as number] as number;
  }
  return ids;
}

/** How many of the largest logits truncation keeps. */
function keptOf(logits: Float32Array, order: readonly number[], inverse: number, s: Sampling): number {
  const top = logits[order[0] as number] as number;
  const weight = (id: number): number => Math.exp(((logits[id] as number) - top) * inverse);
  const byCount = s.topK === 0 ? order.length : Math.min(s.topK, order.length);
  let kept = byCount;
  if (s.topP < 1) {
    const wanted = s.topP * massOf(logits, top, inverse, s.topK);
    let mass = 0;
    kept = 0;
    while (kept < byCount && (kept === 0 || mass < wanted)) mass += weight(order[kept++] as number);
  }
  while (kept > 1 && weight(order[kept - 1] as number) < s.minP) kept--;
  return kept;
}

/** Weight of the `topK` largest logits, or of all of them. */
function massOf(logits: Float32Array, top: number, inverse: number, topK: number): number {
  const counted = topK > 0 && topK < logits.length ? Float32Array.from(logits).sort().subarray(-topK) : logits;
  return counted.reduce((sum, l) => sum + Math.exp((l - top) * inverse), 0);
}
