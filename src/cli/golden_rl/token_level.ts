import { z } from "zod";
import { discountedReturns, type GaeResult, gae } from "../../rl/advantages/gae.ts";
import { adaptKl, type KlKind, klInReward, klKinds, klToken } from "../../rl/kl.ts";
import type { TokenLosses } from "../../rl/losses/policy_loss.ts";
import { valueLoss } from "../../rl/losses/value_loss.ts";
import { whiten } from "../../rl/masked.ts";
import { rowShares, rowWeights } from "../../rl/normalisation.ts";
import { type Check, type GoldenKind, type GoldenRow, runGolden } from "./golden_file.ts";
import { anyNumber, matrix, weighted } from "./loss_case.ts";

const gaeInputs = z.object({
  rewards: matrix,
  values: matrix,
  new_values: matrix,
  mask: matrix,
  gamma: z.number(),
  lam: z.number(),
  cliprange_value: z.number(),
});
type GaeCase = z.infer<typeof gaeInputs>;

const estimate = (input: GaeCase): GaeResult =>
  gae(input.rewards, input.values, input.mask, { gamma: input.gamma, lambda: input.lam });

const returns = (input: GaeCase): Float64Array[] => discountedReturns(input.rewards, input.mask, input.gamma);

/** verl's whitening: 1e-8 in the count as well. */
const whitening = { eps: 1e-8, countEps: 1e-8 };

function valueLosses(input: GaeCase): { loss: number; grad: number[][] } {
  const targets = estimate(input).returns;
  const tokens: TokenLosses[] = input.mask.map((mask, i) =>
    valueLoss(
      input.new_values[i] ?? [],
      input.values[i] ?? [],
      targets[i] as Float64Array,
      mask,
      input.cliprange_value,
    ),
  );
  return weighted(tokens, input.mask, rowWeights(rowShares(input.mask), "token-mean"));
}

const gaeKind: GoldenKind<GaeCase> = {
  inputs: gaeInputs,
  floor: 0.1,
  checks: {
    gae_advantages: (input) => estimate(input).advantages,
    returns: (input) => estimate(input).returns,
    gae_whitened: (input) => whiten(estimate(input).advantages, input.mask, whitening),
    rpp_returns: returns,
    rpp_advantages: (input) => whiten(returns(input), input.mask, whitening),
    value_loss_token_mean: (input) => valueLosses(input).loss,
    value_grad: (input) => valueLosses(input).grad,
  },
};

/** gae.json: token-level advantages, their whitening, and the value loss. */
export function runGae(json: unknown, file: string): GoldenRow[] {
  return runGolden(json, gaeKind, file);
}

/** A list for the estimators, rows for the KL in the reward. */
const listOrRows = z.union([z.array(anyNumber), matrix]);

const klInputs = z.object({
  logprob: listOrRows.optional(),
  ref_logprob: listOrRows.optional(),
  mask: matrix.optional(),
  token_scores: matrix.optional(),
  kl_coef: z.number().optional(),
  init_kl_coef: z.number().optional(),
  target_kl: z.number().optional(),
  horizon: z.number().optional(),
  n_steps: z.number().optional(),
  current_kl: z.array(z.number()).optional(),
});
type KlCase = z.infer<typeof klInputs>;

const estimatorBy =
  (kind: KlKind): Check<KlCase> =>
  (input) => {
    const ref = (input.ref_logprob ?? []) as number[];
    const tokens = ((input.logprob ?? []) as number[]).map((logprob, t) => klToken(kind, logprob, ref[t] as number));
    return { value: tokens.map((t) => t.value), grad: tokens.map((t) => t.grad) };
  };

/** The coefficient after each measurement of the case. */
function coefficients(input: KlCase): number[] {
  let state = {
    coef: input.init_kl_coef ?? Number.NaN,
    target: input.target_kl ?? Number.NaN,
    horizon: input.horizon ?? Number.NaN,
  };
  return (input.current_kl ?? []).map((current) => {
    state = adaptKl(state, current, input.n_steps ?? Number.NaN);
    return state.coef;
  });
}

const klKind: GoldenKind<KlCase> = {
  inputs: klInputs,
  floor: 1e-4,
  checks: {
    ...Object.fromEntries(klKinds.map((kind) => [kind, estimatorBy(kind)])),
    coef_after: coefficients,
    token_rewards: (input) =>
      klInReward(
        input.token_scores ?? [],
        (input.logprob ?? []) as number[][],
        (input.ref_logprob ?? []) as number[][],
        input.mask ?? [],
        input.kl_coef ?? Number.NaN,
      ),
  },
};

/** kl.json: every estimator with its gradient, the adaptive coefficient, and the KL in the reward. */
export function runKl(json: unknown, file: string): GoldenRow[] {
  return runGolden(json, klKind, file);
}
