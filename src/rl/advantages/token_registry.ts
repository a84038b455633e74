import { ConfigError } from "../../core/errors.ts";
import type { TokenAdvantages, TokenEstimator, TokenSequence } from "./token_estimator.ts";
import { type TokenGaeOptions, tokenGae } from "./token_gae.ts";
import { type TokenGrpoOptions, tokenGrpo } from "./token_grpo.ts";
import { type TokenReturnsOptions, tokenReturns } from "./token_returns.ts";

/** Options of every token-level estimator, by the name that a configuration uses. */
export interface TokenAdvantageOptions {
  gae: TokenGaeOptions;
  returns: TokenReturnsOptions;
  process_grpo: TokenGrpoOptions;
}

/** Name of an estimator over token rewards. */
export type TokenAdvantageName = keyof TokenAdvantageOptions;

/** A token-level estimator by name with the options that differ from its defaults; JSON-serialisable. */
export type TokenAdvantageConfig = {
  [Name in TokenAdvantageName]: { estimator: Name } & Partial<TokenAdvantageOptions[Name]>;
}[TokenAdvantageName];

/** Every estimator over token rewards. To add one: a file beside this one, a line in each of the two lists. */
export const tokenEstimators: { readonly [Name in TokenAdvantageName]: TokenEstimator<TokenAdvantageOptions[Name]> } = {
  gae: tokenGae,
  returns: tokenReturns,
  process_grpo: tokenGrpo,
};

/** True when a configured estimator works on token rewards. */
export function isTokenLevel(config: { estimator: string }): config is TokenAdvantageConfig {
  return Object.hasOwn(tokenEstimators, config.estimator);
}

/** True when the estimator needs a critic. */
export function needsValues(config: { estimator: string }): boolean {
  return isTokenLevel(config) && tokenEstimators[config.estimator].needsValues;
}

/**
 * Advantages per token of every sequence.
 * @throws ConfigError on an option the estimator does not have or a value it cannot take; LeydenError "missing_values"
 */
export function estimateTokenAdvantages(
  sequences: readonly TokenSequence[],
  config: TokenAdvantageConfig,
): TokenAdvantages {
  const { estimator: name, ...options } = config;
  const estimator = tokenEstimators[name] as TokenEstimator<object>;
  for (const [key, value] of Object.entries(options)) {
    if (!Object.hasOwn(estimator.defaults, key)) {
      throw new ConfigError(`The advantage estimator "${name}" has no option "${key}".`, {
        do: `Its options are ${Object.keys(estimator.defaults).join(", ")}.`,
      });
    }
    if (typeof value === "number" && value >= 0) continue;
    throw new ConfigError(`The option "${key}" of the advantage estimator "${name}" is ${JSON.stringify(value)}.`, {
      do: "Give a number of at least 0.",
    });
  }
  return estimator.estimate(sequences, { ...estimator.defaults, ...options });
}
