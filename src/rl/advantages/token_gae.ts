import { LeydenError } from "../../core/errors.ts";
import { whiten } from "../masked.ts";
import { type GaeOptions, gae } from "./gae.ts";
import { everything, type TokenEstimator } from "./token_estimator.ts";

export interface TokenGaeOptions extends GaeOptions {
  /** 1 whitens the advantages over all tokens of the batch, as PPO does; 0 leaves them. */
  whiten: number;
}

/**
 * PPO's advantages: `gae` over each sequence's tokens, whitened over the batch; returns for the critic.
 * @throws LeydenError "missing_values" without a critic's values.  Source: Schulman et al. 2015, arXiv:1506.02438.
 */
export const tokenGae: TokenEstimator<TokenGaeOptions> = {
  name: "gae",
  defaults: { gamma: 1, lambda: 1, whiten: 1 },
  needsValues: true,
  estimate(sequences, options) {
    const rewards = sequences.map((s) => s.rewards);
    const values = sequences.map((s) => s.values);
    if (!values.every((v) => v !== null)) {
      throw new LeydenError("missing_values", "GAE has no values of the states it estimates advantages of.", {
        do: "Train with a critic, or choose an estimator that needs none.",
      });
    }
    const mask = everything(rewards);
    const { advantages, returns } = gae(rewards, values, mask, options);
    return { advantages: options.whiten === 0 ? advantages : whiten(advantages, mask), returns };
  },
};
