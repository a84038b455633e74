import { type Numbers, type Rows, zerosLike } from "../masked.ts";

/** Discounts of token-level estimators. */
export interface GaeOptions {
  gamma: number;
  lambda: number;
}

/** Advantages and value targets per token, (B, T), 0 outside the mask. */
export interface GaeResult {
  advantages: Float64Array[];
  returns: Float64Array[];
}

/**
 * Generalised advantage estimation over sampled tokens: delta_t = r_t + gamma V_next - V_t,
 * A_t = delta_t + gamma lambda A_next, where "next" is the next masked token (what the tools say in between is
 * skipped); returns = A + V. Values outside the mask are never read. (B, T) -> (B, T).
 * Source: Schulman et al. 2015, arXiv:1506.02438; skipping as in verl.
 */
export function gae(rewards: Rows, values: Rows, mask: Rows, options: GaeOptions): GaeResult {
  const advantages = zerosLike(mask);
  const returns = zerosLike(mask);
  for (let i = 0; i < mask.length; i++) {
    const m = mask[i] as Numbers;
    const r = rewards[i] as Numbers;
    const v = values[i] as Numbers;
    let nextValue = 0;
    let nextAdvantage = 0;
    for (let t = m.length - 1; t >= 0; t--) {
      if (m[t] === 0) continue;
      const value = v[t] as number;
      const delta = (r[t] as number) + options.gamma * nextValue - value;
      nextAdvantage = delta + options.gamma * options.lambda * nextAdvantage;
      nextValue = value;
      (advantages[i] as Float64Array)[t] = nextAdvantage;
      (returns[i] as Float64Array)[t] = nextAdvantage + value;
    }
  }
  return { advantages, returns };
}

/**
 * Discounted return to go over sampled tokens, G_t = r_t + gamma G_next with "next" as in `gae`. (B, T) -> (B, T).
 * REINFORCE++ whitens the result.  Source: Hu 2025, arXiv:2501.03262.
 */
export function discountedReturns(rewards: Rows, mask: Rows, gamma: number): Float64Array[] {
  const returns = zerosLike(mask);
  for (let i = 0; i < mask.length; i++) {
    const m = mask[i] as Numbers;
    let next = 0;
    for (let t = m.length - 1; t >= 0; t--) {
      if (m[t] === 0) continue;
      next = ((rewards[i] as Numbers)[t] as number) + gamma * next;
      (returns[i] as Float64Array)[t] = next;
    }
  }
  return returns;
}
