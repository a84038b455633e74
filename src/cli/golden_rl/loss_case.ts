import { z } from "zod";
import type { LossRow, TokenLosses } from "../../rl/losses/policy_loss.ts";
import { weightedLoss } from "../../rl/normalisation.ts";

/** A number, NaN and infinities included: they may stand outside the mask. */
export const anyNumber: z.ZodType<number> = z.custom<number>((value) => typeof value === "number", "expected a number");

/** Rows of numbers, (B, T). */
export const matrix: z.ZodType<number[][]> = z.array(z.array(anyNumber));

/** The token matrices that every policy loss reads. */
export interface LossMatrices {
  logprob: number[][];
  old_logprob: number[][];
  advantages: number[][];
  mask: number[][];
}

/** The matrices as rows of a policy loss. */
export function lossRows(input: LossMatrices): LossRow[] {
  return input.mask.map((mask, i) => ({
    mask,
    logprob: input.logprob[i] ?? [],
    oldLogprob: input.old_logprob[i] ?? [],
    advantages: input.advantages[i] ?? [],
  }));
}

/** Loss and gradient of token losses under row weights, as the golden files state them. */
export function weighted(
  tokens: readonly TokenLosses[],
  mask: readonly number[][],
  weights: ArrayLike<number>,
): { loss: number; grad: number[][] } {
  const losses = tokens.map((row) => row.loss);
  return {
    loss: weightedLoss(losses, mask, weights),
    grad: tokens.map((row, i) => Array.from(row.grad, (g) => g * (weights[i] as number))),
  };
}
