import type { LossSettings } from "../../src/ops/loss_settings.ts";

/** Host data of a loss head. */
export interface LossCase {
  T: number;
  C: number;
  V: number;
  h: Float64Array;
  w: Float64Array;
  src: number[];
  target: number[];
  weight: number[];
  advantage: number[];
  oldLogprob: number[];
  refLogprob: number[];
}

/** Log-softmax of a record's logits at the loss's temperature, in float64. */
export function logprobsOf(c: LossCase, r: number, temperature: number): Float64Array {
  const z = Float64Array.from({ length: c.V }, (_, v) => {
    let sum = 0;
    for (let i = 0; i < c.C; i++) {
      sum += (c.h[(c.src[r] as number) * c.C + i] as number) * (c.w[v * c.C + i] as number);
    }
    return sum / temperature;
  });
  const top = z.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const logSum = top + Math.log(z.reduce((s, v) => s + Math.exp(v - top), 0));
  return z.map((v) => v - logSum);
}

function clamp(x: number, low: number, high: number): number {
  return Math.min(Math.max(x, low), high);
}

function klOf(kind: LossSettings["klKind"], d: number): number {
  if (kind === "k1") return d;
  if (kind === "k2") return (d * d) / 2;
  const x = clamp(-d, -20, 20);
  return clamp(Math.exp(x) - x - 1, -10, 10);
}

/** The statistics (8 per record) of the loss as its definition states it. */
export function statsOf(c: LossCase, loss: LossSettings): number[] {
  return c.src.flatMap((_, r) => {
    const logprobs = logprobsOf(c, r, loss.temperature);
    const logprob = logprobs[c.target[r] as number] as number;
    const entropy = -logprobs.reduce((s, l) => s + Math.exp(l) * l, 0);
    const weight = c.weight[r] as number;
    if (weight === 0) return [logprob, entropy, 0, 0, 0, 0, 0, 0];
    const policy =
      loss.kind === "ppo" ? ppoOf(logprob, c, r, loss) : { value: -logprob, ratio: 1, clipped: 0, dual: 0 };
    const kl = loss.klCoef === 0 ? 0 : klOf(loss.klKind, logprob - (c.refLogprob[r] as number));
    const value = policy.value + loss.klCoef * kl - loss.entropyCoef * entropy;
    return [logprob, entropy, weight * value, policy.ratio, policy.clipped, policy.dual, kl, 0];
  });
}

function ppoOf(
  logprob: number,
  c: LossCase,
  r: number,
  loss: LossSettings,
): Record<"value" | "ratio" | "clipped" | "dual", number> {
  const a = c.advantage[r] as number;
  const ratio = Math.exp(clamp(logprob - (c.oldLogprob[r] as number), -20, 20));
  const limited = -a * clamp(ratio, 1 - loss.clipLow, 1 + loss.clipHigh);
  const value = Math.max(-a * ratio, limited);
  const dual = loss.dualClip > 0 && a < 0 && value > -a * loss.dualClip;
  return { value: dual ? -a * loss.dualClip : value, ratio, clipped: limited > -a * ratio ? 1 : 0, dual: dual ? 1 : 0 };
}

/** Sum of weight * loss over all records. */
export function totalOf(c: LossCase, loss: LossSettings): number {
  return statsOf(c, loss).reduce((s, v, i) => s + (i % 8 === 2 ? v : 0), 0);
}

/** Gradient of the total by every entry of h or w, by fourth-order central differences. */
export function differencesOf(c: LossCase, loss: LossSettings, name: "h" | "w"): number[] {
  const step = 1e-4;
  return Array.from(c[name].keys(), (i) => {
    const moved = (by: number): number => {
      const data = c[name].slice();
      data[i] = (data[i] as number) + by;
      return totalOf({ ...c, [name]: data }, loss);
    };
    return (8 * (moved(step) - moved(-step)) - (moved(2 * step) - moved(-2 * step))) / (12 * step);
  });
}
