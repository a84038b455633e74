import type { Numbers } from "../masked.ts";
import { clampedRatio, type LossRow, type TokenLosses } from "./policy_loss.ts";
import { type PpoOptions, ppo } from "./ppo.ts";

export interface DecoupledPpoOptions extends PpoOptions {
  /** Bound on the behaviour weight. */
  cap: number;
  /** Above the bound: "truncate" keeps the bound, "mask" drops the token. */
  above: "truncate" | "mask";
}

/** A loss row with the sampler's log-probabilities; `oldLogprob` is the proximal policy's. */
export interface DecoupledRow extends LossRow {
  behaviourLogprob: Numbers;
}

/**
 * Decoupled PPO: sg(w) PPO(exp(logprob - proximal)), w = exp(proximal - behaviour), bounded. Denominators keep the
 * original mask, so that a dropped token does not inflate the others.
 * Source: Hilton et al. 2021, arXiv:2110.00641; bounds as in AReaL, arXiv:2505.24298.
 */
export function decoupledPpo(row: DecoupledRow, options: DecoupledPpoOptions): TokenLosses {
  const out = ppo.tokens(row, options);
  for (let t = 0; t < row.mask.length; t++) {
    if (row.mask[t] === 0) continue;
    const { ratio } = clampedRatio(row.oldLogprob[t] as number, row.behaviourLogprob[t] as number);
    const within = ratio <= options.cap;
    const weight = within ? ratio : options.above === "mask" ? 0 : options.cap;
    out.loss[t] = (out.loss[t] as number) * weight;
    out.grad[t] = (out.grad[t] as number) * weight;
  }
  return out;
}
