import { type Rows, zerosLike } from "./masked.ts";

/** Value of a KL estimator at one token and its derivative with respect to the policy's logprob. */
export interface KlToken {
  value: number;
  grad: number;
}

/**
 * Per-token estimators of KL(policy || reference) from sampled tokens, d = logprob - ref:
 * - k1 = d; its gradient as a loss is 0 in expectation
 * - abs = |d|
 * - k2 = d^2 / 2; the right gradient
 * - k3 = exp(-d) + d - 1, -d clamped to +-20 and the value to +-10, gradient 0 where clamped
 * - k3_noclamp
 * - k1+ and k3+: the value of k1 or k3 with the gradient of k2
 */
export const klKinds = ["k1", "abs", "k2", "k3", "k3_noclamp", "k1+", "k3+"] as const;

/** An estimator of `klKinds`. */
export type KlKind = (typeof klKinds)[number];

function k3(d: number): KlToken {
  const x = Math.min(Math.max(-d, -20), 20);
  const value = Math.expm1(x) - x;
  // Where -d was clamped the value is past its own bound.
  return value > 10 ? { value: 10, grad: 0 } : { value, grad: -Math.expm1(x) };
}

/**
 * One token of a KL estimator.
 * Source: Schulman 2020, "Approximating KL divergence"; clamps and straight-through forms as in verl.
 */
export function klToken(kind: KlKind, logprob: number, refLogprob: number): KlToken {
  const d = logprob - refLogprob;
  switch (kind) {
    case "k1":
      return { value: d, grad: 1 };
    case "abs":
      return { value: Math.abs(d), grad: Math.sign(d) };
    case "k2":
      return { value: (d * d) / 2, grad: d };
    case "k3":
      return k3(d);
    case "k3_noclamp":
      return { value: Math.expm1(-d) + d, grad: -Math.expm1(-d) };
    case "k1+":
      return { value: d, grad: d };
    case "k3+":
      return { value: k3(d).value, grad: d };
  }
}

/** Token rewards minus coef * k1 on the masked tokens; the others keep their score. (B, T) -> (B, T). */
export function klInReward(scores: Rows, logprob: Rows, refLogprob: Rows, mask: Rows, coef: number): Float64Array[] {
  const out = zerosLike(mask);
  mask.forEach((row, i) => {
    for (let t = 0; t < row.length; t++) {
      const score = scores[i]?.[t] as number;
      const d = (logprob[i]?.[t] as number) - (refLogprob[i]?.[t] as number);
      (out[i] as Float64Array)[t] = row[t] === 0 ? score : score - coef * d;
    }
  });
  return out;
}

/** State of the adaptive KL coefficient. */
export interface AdaptiveKl {
  coef: number;
  /** KL per token to hold. */
  target: number;
  /** Samples over which an error of 20 % moves the coefficient by 20 %. */
  horizon: number;
}

/**
 * The coefficient after a step over `samples` samples whose measured KL was `current`:
 * coef * (1 + clip(current / target - 1, +-0.2) * min(samples / horizon, 1)).
 * The formula is a slow controller's, of a horizon much longer than a step. A step that is longer moves the coefficient by
 * the whole clipped error and no more: one measurement says nothing beyond that, and a KL of 0 over five horizons at once
 * would turn the coefficient negative, a reward for leaving the reference. Source: Ziegler et al. 2019, arXiv:1909.08593.
 */
export function adaptKl(state: AdaptiveKl, current: number, samples: number): AdaptiveKl {
  const error = Math.min(Math.max(current / state.target - 1, -0.2), 0.2);
  return { ...state, coef: state.coef * (1 + error * Math.min(samples / state.horizon, 1)) };
}
