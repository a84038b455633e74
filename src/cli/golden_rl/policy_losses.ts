import { z } from "zod";
import { decoupledPpo } from "../../rl/losses/decoupled_ppo.ts";
import { policyMetrics } from "../../rl/losses/policy_metrics.ts";
import { type PolicyLossName, type PolicyLossOptions, policyLosses } from "../../rl/losses/registry.ts";
import { rowShares, rowWeights } from "../../rl/normalisation.ts";
import { type Check, type GoldenKind, type GoldenRow, runGolden } from "./golden_file.ts";
import { anyNumber, lossRows, matrix, weighted } from "./loss_case.ts";

const policyInputs = z.object({ logprob: matrix, old_logprob: matrix, advantages: matrix, mask: matrix });
type PolicyCase = z.infer<typeof policyInputs>;

/** A loss of the registry under its authors' normalisation, each row a rollout of its own. */
function lossBy<Name extends PolicyLossName>(name: Name, options: PolicyLossOptions[Name]): Check<PolicyCase> {
  const loss = policyLosses[name];
  return (input) =>
    weighted(
      lossRows(input).map((row) => loss.tokens(row, options)),
      input.mask,
      rowWeights(rowShares(input.mask), loss.normalisation),
    );
}

const dualClip = { clipLow: 0.2, clipHigh: 0.28, dualClip: 3 };

const policyKind: GoldenKind<PolicyCase> = {
  inputs: policyInputs,
  floor: 0.01,
  checks: {
    ppo: lossBy("ppo", { clipLow: 0.2, clipHigh: 0.2, dualClip: 0 }),
    ppo_clip_higher: lossBy("ppo", { clipLow: 0.2, clipHigh: 0.28, dualClip: 0 }),
    dual_clip: lossBy("ppo", dualClip),
    gspo: lossBy("gspo", { clipLow: 0.05, clipHigh: 0.08 }),
    gmpo: lossBy("gmpo", { clipLow: 0.4, clipHigh: 0.4 }),
    cispo: lossBy("cispo", { clipLow: 0.2, clipHigh: 0.28 }),
    cispo_upper_only: lossBy("cispo", { clipLow: 1, clipHigh: 4 }),
    sapo: lossBy("sapo", { tauPositive: 1, tauNegative: 1.05 }),
    dppo_tv: lossBy("dppo_tv", { maxDecrease: 0.1, maxIncrease: 0.1, maxRatio: 20 }),
    reinforce: lossBy("reinforce", { cap: 0 }),
    reinforce_tis: lossBy("reinforce", { cap: 2 }),
    dro: lossBy("dro", { beta: 0.1 }),
    metrics: (input) => {
      const found = policyMetrics(lossRows(input), dualClip);
      return {
        approx_kl_k1: found.approxKl,
        ratio_mean: found.ratioMean,
        ratio_max: found.ratioMax,
        clipfrac: found.clipFrac,
        dual_clipfrac: found.dualClipFrac,
      };
    },
  },
};

/** policy_loss.json: every policy loss with its gradient, and PPO's metrics. */
export function runPolicyLoss(json: unknown, file: string): GoldenRow[] {
  return runGolden(json, policyKind, file);
}

const decoupledInputs = z.object({
  logprob: matrix,
  proximal_logprob: matrix,
  behaviour_logprob: matrix,
  advantages: matrix,
  mask: matrix,
  cap: anyNumber,
  clip: anyNumber,
});
type DecoupledCase = z.infer<typeof decoupledInputs>;

const decoupledBy =
  (above: "truncate" | "mask"): Check<DecoupledCase> =>
  (input) => {
    const options = { clipLow: input.clip, clipHigh: input.clip, dualClip: 0, cap: input.cap, above };
    const rows = lossRows({ ...input, old_logprob: input.proximal_logprob });
    return weighted(
      rows.map((row, i) => decoupledPpo({ ...row, behaviourLogprob: input.behaviour_logprob[i] ?? [] }, options)),
      input.mask,
      rowWeights(rowShares(input.mask), "token-mean"),
    );
  };

const decoupledKind: GoldenKind<DecoupledCase> = {
  inputs: decoupledInputs,
  floor: 0.01,
  checks: { token_truncate: decoupledBy("truncate"), token_mask: decoupledBy("mask") },
};

/** decoupled_ppo.json: PPO against a proximal policy with bounded behaviour weights. */
export function runDecoupledPpo(json: unknown, file: string): GoldenRow[] {
  return runGolden(json, decoupledKind, file);
}
