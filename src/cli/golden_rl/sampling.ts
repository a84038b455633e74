import { z } from "zod";
import { type TruncatedDistribution, truncatedDistribution } from "../../rl/sampling.ts";
import { type GoldenKind, type GoldenRow, runGolden } from "./golden_file.ts";
import { anyNumber } from "./loss_case.ts";

const inputs = z.object({
  logits: z.array(anyNumber),
  temperature: z.number(),
  top_k: z.number(),
  top_p: z.number(),
  min_p: z.number(),
});
type Case = z.infer<typeof inputs>;

const distribution = (input: Case): TruncatedDistribution =>
  truncatedDistribution(input.logits, {
    temperature: input.temperature,
    topK: input.top_k,
    topP: input.top_p,
    minP: input.min_p,
  });

const kind: GoldenKind<Case> = {
  inputs,
  floor: 0.001,
  checks: {
    logprob_full: (input) => distribution(input).logprobs,
    entropy_full: (input) => distribution(input).entropy,
    probs_filtered: (input) => distribution(input).probabilities,
    kept: (input) => distribution(input).kept,
    sum_pi_squared: (input) => distribution(input).sumSquares,
  },
};

/** sampling.json: the distribution that tokens are drawn from, and the one a trainer recomputes. */
export function runSampling(json: unknown, file: string): GoldenRow[] {
  return runGolden(json, kind, file);
}
