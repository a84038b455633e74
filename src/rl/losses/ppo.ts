import { clampedRatio, clip, type PolicyLoss, tokenwise } from "./policy_loss.ts";

/** Clip range of the ratio and the dual-clip bound. */
export interface PpoOptions {
  /** The ratio is clipped below at 1 - clipLow. */
  clipLow: number;
  /** And above at 1 + clipHigh; larger than clipLow is "clip-higher". */
  clipHigh: number;
  /** For negative advantages the loss is at most -A dualClip; 0 turns it off. */
  dualClip: number;
}

/** One token of PPO with what was clipped. */
export interface PpoToken {
  loss: number;
  /** Derivative with respect to logprob. */
  grad: number;
  ratio: number;
  logRatio: number;
  /** The clipped ratio gives the larger loss. */
  clipped: boolean;
  /** The dual clip holds. */
  dualClipped: boolean;
}

/**
 * PPO of one token: max(-A r, -A clip(r, 1-lo, 1+hi)), r = exp(clamp(logprob - old, +-20)); for A < 0 at most -A c.
 * Source: Schulman et al. 2017, arXiv:1707.06347; dual clip Ye et al. 2019, arXiv:1912.09729.
 */
export function ppoToken(logprob: number, oldLogprob: number, advantage: number, options: PpoOptions): PpoToken {
  const { ratio, slope, logRatio } = clampedRatio(logprob, oldLogprob);
  const plain = -advantage * ratio;
  const clippedRatio = clip(ratio, 1 - options.clipLow, 1 + options.clipHigh);
  const limited = -advantage * clippedRatio;
  const clipped = limited > plain;
  const bound = -advantage * options.dualClip;
  const dualClipped = options.dualClip > 0 && advantage < 0 && Math.max(plain, limited) > bound;
  if (dualClipped) return { loss: bound, grad: 0, ratio, logRatio, clipped, dualClipped };
  // Where the clip does not move the ratio both branches are the same function of logprob.
  const moved = clipped && clippedRatio !== ratio;
  return {
    loss: clipped ? limited : plain,
    grad: moved ? 0 : -advantage * slope,
    ratio,
    logRatio,
    clipped,
    dualClipped,
  };
}

/** PPO-clip with clip-higher and dual clip. Source: see `ppoToken`; clip-higher Yu et al. 2025, arXiv:2503.14476. */
export const ppo: PolicyLoss<PpoOptions> = {
  name: "ppo",
  defaults: { clipLow: 0.2, clipHigh: 0.28, dualClip: 3 },
  normalisation: "token-mean",
  isZeroWithoutAdvantage: true,
  tokens: (row, options) => tokenwise(row, (logprob, old, advantage) => ppoToken(logprob, old, advantage, options)),
};
