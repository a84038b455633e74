import { threefry2x32 } from "../../src/core/rng.ts";
import { none, type SampleParams } from "../../src/ops/sample_state.ts";

/** A row's distribution in float64, plainly by sorting. */
export interface Distribution {
  /** Probability of each id after truncation and renormalisation. */
  readonly probs: Float64Array;
  /** Log-probability of each id before truncation. */
  readonly full: Float64Array;
  /** True when truncation dropped an id that had weight. */
  readonly truncated: boolean;
  /** How far top-p's bound is from the nearest cumulative mass: below rounding, either side is right. */
  readonly margin: number;
}

/** Temperature, then top-k, top-p on the renormalised rest, min-p against the likeliest. */
export function distributionOf(logits: ArrayLike<number>, p: Omit<SampleParams, "key" | "counter">): Distribution {
  const temperature = p.temperature === 0 ? 1 : p.temperature;
  const z = Array.from(logits, (v) => v / temperature);
  const top = z.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const total = z.reduce((s, v) => s + Math.exp(v - top), 0);
  const full = Float64Array.from(z, (v) => v - top - Math.log(total));
  let kept = z.map((_, i) => i).sort((a, b) => (z[b] as number) - (z[a] as number) || a - b);
  let margin = 1;
  if (p.temperature !== 0 && p.forced === undefined) {
    if (p.topK > 0) kept = kept.slice(0, p.topK);
    if (p.topP < 1) [kept, margin] = nucleus(kept, full, p.topP);
    kept = kept.filter((i) => (z[i] as number) >= top + Math.log(Math.min(p.minP, 1)));
  }
  const probs = new Float64Array(z.length);
  const mass = kept.reduce((s, i) => s + Math.exp(full[i] as number), 0);
  for (const i of kept) probs[i] = Math.exp(full[i] as number) / mass;
  const dropped = full.some((v, i) => probs[i] === 0 && Math.exp(v - Math.max(...full)) > 1e-38);
  return { probs, full, truncated: dropped, margin };
}

function nucleus(ranked: number[], full: Float64Array, topP: number): [number[], number] {
  const mass = ranked.reduce((s, i) => s + Math.exp(full[i] as number), 0);
  const kept: number[] = [];
  let before = 0;
  let margin = 1;
  for (const i of ranked) {
    if (kept.length > 0 && before >= topP) break;
    kept.push(i);
    before += Math.exp(full[i] as number) / mass;
    margin = Math.min(margin, Math.abs(before - topP));
  }
  return [kept, margin];
}

/** What the sampler should return for draw `n` of a sequence, and how near the draw is to another id. */
export function drawOf(
  logits: ArrayLike<number>,
  p: SampleParams,
  n: number,
): { id: number; logprob: number; truncated: boolean; margin: number } {
  const d = distributionOf(logits, p);
  if (p.forced !== undefined && p.forced !== none) {
    return { id: p.forced, logprob: d.full[p.forced] as number, truncated: false, margin: 1 };
  }
  if (p.temperature === 0) {
    const id = d.full.indexOf(d.full.reduce((a, b) => Math.max(a, b)));
    return { id, logprob: d.full[id] as number, truncated: false, margin: 1 };
  }
  const u = (threefry2x32(p.key, [p.counter + n, 0])[0] >>> 8) / 16777216;
  let sum = 0;
  let margin = d.margin;
  let id = -1;
  for (const [i, q] of d.probs.entries()) {
    sum += q;
    margin = Math.min(margin, q === 0 ? 1 : Math.abs(sum - u));
    if (id < 0 && sum > u) id = i;
  }
  return { id, logprob: Math.log(d.probs[id] as number), truncated: d.truncated, margin };
}
