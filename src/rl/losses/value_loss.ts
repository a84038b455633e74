import type { Numbers } from "../masked.ts";
import { clip, type TokenLosses } from "./policy_loss.ts";

/**
 * Clipped value loss per token: 0.5 max((v - G)^2, (clip(v, old +- range) - G)^2) and its gradient with respect to v,
 * (T) each, 0 outside the mask.  Source: Schulman et al. 2017's code; halved as in verl.
 */
export function valueLoss(
  values: Numbers,
  oldValues: Numbers,
  returns: Numbers,
  mask: Numbers,
  clipRange: number,
): TokenLosses {
  const out: TokenLosses = { loss: new Float64Array(mask.length), grad: new Float64Array(mask.length) };
  for (let t = 0; t < mask.length; t++) {
    if (mask[t] === 0) continue;
    const value = values[t] as number;
    const old = oldValues[t] as number;
    const target = returns[t] as number;
    const limited = clip(value, old - clipRange, old + clipRange);
    const plain = value - target;
    const clipped = limited - target;
    const useClipped = clipped * clipped > plain * plain;
    out.loss[t] = 0.5 * Math.max(plain * plain, clipped * clipped);
    out.grad[t] = useClipped && limited !== value ? 0 : plain;
  }
  return out;
}
