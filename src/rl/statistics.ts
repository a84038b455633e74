import { LeydenError } from "../core/errors.ts";
import { Rng, type RngKey } from "../core/rng.ts";
import { mean } from "./reward_statistics.ts";

/** An estimate with its two-sided 95 % interval. */
export interface Interval {
  value: number;
  low: number;
  high: number;
}

/** Two-sided 95 % point of the standard normal distribution. */
const z95 = 1.959963984540054;

/**
 * Unbiased pass@k from n samples of one task of which c succeed: 1 - C(n-c, k) / C(n, k).
 * @throws LeydenError "pass_at_k" unless 0 <= c <= n and 1 <= k <= n.  Source: Chen et al. 2021, arXiv:2107.03374.
 */
export function passAtKEstimate(n: number, c: number, k: number): number {
  if (!(c >= 0 && c <= n && k >= 1 && k <= n)) {
    throw new LeydenError("pass_at_k", `pass@${k} cannot be estimated from ${n} samples with ${c} successes.`, {
      do: "Draw at least k samples per task.",
    });
  }
  let allFail = 1;
  for (let i = 0; i < k; i++) allFail *= Math.max(0, n - c - i) / (n - i);
  return 1 - allFail;
}

/**
 * Wilson score interval of a success rate from independent trials; [0, 1] without trials.
 * Source: Wilson 1927; Brown, Cai & DasGupta 2001.
 */
export function wilsonInterval(successes: number, trials: number): Interval {
  if (trials === 0) return { value: 0, low: 0, high: 1 };
  const p = successes / trials;
  const z2 = z95 * z95;
  const centre = (p + z2 / (2 * trials)) / (1 + z2 / trials);
  const half = (z95 / (1 + z2 / trials)) * Math.sqrt((p * (1 - p)) / trials + z2 / (4 * trials * trials));
  // The ends are exact at 0 and 1; rounding would put them a hair beyond.
  return {
    value: p,
    low: successes === 0 ? 0 : Math.max(0, centre - half),
    high: successes === trials ? 1 : Math.min(1, centre + half),
  };
}

/** Value at share `q` of a sorted list, interpolated linearly. */
function quantile(sorted: Float64Array, q: number): number {
  const at = q * (sorted.length - 1);
  const low = sorted[Math.floor(at)] as number;
  const high = sorted[Math.ceil(at)] as number;
  return low + (high - low) * (at - Math.floor(at));
}

/**
 * Percentile bootstrap of a mean over tasks (each value is a task's own mean, so that samples of one task stay
 * together); the same key gives the same interval. Without values all three are 0.
 * Source: Efron & Tibshirani 1993, chapter 13.
 */
export function bootstrapInterval(values: ArrayLike<number>, key: RngKey, resamples = 2000): Interval {
  const n = values.length;
  if (n === 0) return { value: 0, low: 0, high: 0 };
  const rng = new Rng(key);
  const means = new Float64Array(resamples);
  for (let r = 0; r < resamples; r++) {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += values[rng.below(n)] as number;
    means[r] = sum / n;
  }
  means.sort();
  return { value: mean(values), low: quantile(means, 0.025), high: quantile(means, 0.975) };
}

/** B against A on the same tasks. */
export interface PairedDifference extends Interval {
  /** Tasks where B's mean is higher, lower, equal. */
  better: number;
  worse: number;
  equal: number;
  /** Two-sided sign test over the tasks that differ; 1 when none does. */
  pValue: number;
}

/**
 * Mean difference b - a over tasks with its paired bootstrap interval and an exact sign test.
 * @throws LeydenError "unpaired" when the two lists differ in length.
 */
export function pairedDifference(a: ArrayLike<number>, b: ArrayLike<number>, key: RngKey): PairedDifference {
  if (a.length !== b.length) {
    throw new LeydenError("unpaired", `${a.length} results cannot be paired with ${b.length}.`, {
      do: "Evaluate both models on the same tasks in the same order.",
    });
  }
  const differences = Float64Array.from(b, (value, i) => value - (a[i] as number));
  const better = differences.filter((d) => d > 0).length;
  const worse = differences.filter((d) => d < 0).length;
  return {
    ...bootstrapInterval(differences, key),
    better,
    worse,
    equal: differences.length - better - worse,
    pValue: signTest(better, worse),
  };
}

/** Two-sided exact binomial test of `better` against `worse` at probability 1/2. */
function signTest(better: number, worse: number): number {
  const n = better + worse;
  // Terms C(n, i) / 2^n by logs: n may be thousands.
  let logTerm = -n * Math.LN2;
  let tail = 0;
  for (let i = 0; i <= Math.min(better, worse); i++) {
    tail += Math.exp(logTerm);
    logTerm += Math.log(n - i) - Math.log(i + 1);
  }
  return Math.min(1, 2 * tail);
}
