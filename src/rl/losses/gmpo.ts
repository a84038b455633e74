import { countMasked, type Numbers } from "../masked.ts";
import { clip, type LossRow, type PolicyLoss, type TokenLosses } from "./policy_loss.ts";

export interface GmpoOptions {
  /** Bounds of a token's log ratio, in log space. */
  clipLow: number;
  clipHigh: number;
}

/** Log ratio after GMPO's one-sided clip (the side that the advantage's sign pushes to), and whether it moved. */
function sideClipped(logRatio: number, advantage: number, options: GmpoOptions): { value: number; moved: boolean } {
  const limited = clip(logRatio, -options.clipLow, options.clipHigh);
  const value = advantage >= 0 ? Math.min(logRatio, limited) : Math.max(logRatio, limited);
  return { value, moved: value !== logRatio };
}

/**
 * GMPO: a row's loss is -A exp(mean_t clipped log ratio), the geometric mean of its token ratios, averaged over all rows
 * of the step (empty ones too). Every token holds the row's loss; A is the mean advantage of the row's tokens.
 * Source: Zhao et al. 2025, arXiv:2507.20673.
 */
export const gmpo: PolicyLoss<GmpoOptions> = {
  name: "gmpo",
  defaults: { clipLow: 0.4, clipHigh: 0.4 },
  normalisation: "rows",
  isZeroWithoutAdvantage: true,
  tokens(row: LossRow, options): TokenLosses {
    const length = row.mask.length;
    const out: TokenLosses = { loss: new Float64Array(length), grad: new Float64Array(length) };
    const n = countMasked(row.mask);
    if (n === 0) return out;
    let logRatio = 0;
    let advantage = 0;
    const free = new Uint8Array(length);
    for (let t = 0; t < length; t++) {
      if (row.mask[t] === 0) continue;
      const a = (row.advantages as Numbers)[t] as number;
      const { value, moved } = sideClipped((row.logprob[t] as number) - (row.oldLogprob[t] as number), a, options);
      logRatio += value / n;
      advantage += a / n;
      if (!moved) free[t] = 1;
    }
    const loss = -advantage * Math.exp(logRatio);
    for (let t = 0; t < length; t++) {
      if (row.mask[t] === 0) continue;
      out.loss[t] = loss;
      out.grad[t] = free[t] === 1 ? loss : 0;
    }
    return out;
  },
};
