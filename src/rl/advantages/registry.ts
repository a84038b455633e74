import { ConfigError, LeydenError } from "../../core/errors.ts";
import type { WhitenOptions } from "../masked.ts";
import { drGrpo } from "./dr_grpo.ts";
import type { AdvantageEstimator, ScoredUnit, SingleOptions } from "./estimator.ts";
import { gpg } from "./gpg.ts";
import { type GrpoOptions, grpo } from "./grpo.ts";
import { maxrl } from "./maxrl.ts";
import { opo } from "./opo.ts";
import { type PassAtKOptions, passAtK } from "./pass_at_k.ts";
import { reinforcePlusPlus, reinforcePlusPlusBaseline } from "./reinforce_plus_plus.ts";
import { remax } from "./remax.ts";
import { rloo } from "./rloo.ts";

/** Options of every estimator, by the name that a configuration uses. */
export interface AdvantageOptions {
  grpo: GrpoOptions;
  dr_grpo: SingleOptions;
  rloo: SingleOptions;
  opo: SingleOptions;
  gpg: SingleOptions;
  pass_at_k: PassAtKOptions;
  maxrl: object;
  remax: object;
  reinforce_plus_plus: WhitenOptions;
  reinforce_plus_plus_baseline: WhitenOptions & SingleOptions;
}

/** Name of an estimator over scalar rewards. */
export type AdvantageName = keyof AdvantageOptions;

/** An estimator by name with the options that differ from its defaults; JSON-serialisable. */
export type AdvantageConfig = {
  [Name in AdvantageName]: { estimator: Name } & Partial<AdvantageOptions[Name]>;
}[AdvantageName];

/** Every estimator over scalar rewards. To add one: a file beside this one, a line in each of the two lists. */
export const advantageEstimators: { readonly [Name in AdvantageName]: AdvantageEstimator<AdvantageOptions[Name]> } = {
  grpo,
  dr_grpo: drGrpo,
  rloo,
  opo,
  gpg,
  pass_at_k: passAtK,
  maxrl,
  remax,
  reinforce_plus_plus: reinforcePlusPlus,
  reinforce_plus_plus_baseline: reinforcePlusPlusBaseline,
};

/** @throws ConfigError on an option that the estimator does not have, or a value that it cannot take. */
function checkOptions({ name, defaults, choices }: AdvantageEstimator<object>, options: Record<string, unknown>): void {
  for (const [key, value] of Object.entries(options)) {
    if (!Object.hasOwn(defaults, key)) {
      const known = Object.keys(defaults);
      throw new ConfigError(`The advantage estimator "${name}" has no option "${key}".`, {
        do: known.length === 0 ? "Remove it: this estimator has no options." : `Its options are ${known.join(", ")}.`,
      });
    }
    const allowed = (choices as Record<string, readonly unknown[]>)[key];
    const fits = allowed === undefined ? typeof value === "number" && value >= 0 : allowed.includes(value);
    if (fits) continue;
    throw new ConfigError(`The option "${key}" of the advantage estimator "${name}" is ${JSON.stringify(value)}.`, {
      do: allowed === undefined ? "Give a number of at least 0." : `Use one of ${allowed.join(", ")}.`,
    });
  }
}

/**
 * One advantage per unit, in order, float64.
 * @throws ConfigError on an unknown estimator or option; LeydenError "reward_not_finite" when a reward is no float32.
 */
export function estimateAdvantages(units: readonly ScoredUnit[], config: AdvantageConfig): Float64Array {
  if (!Object.hasOwn(advantageEstimators, config.estimator)) {
    throw new ConfigError(`There is no advantage estimator "${config.estimator}".`, {
      do: `Use one of ${Object.keys(advantageEstimators).join(", ")}.`,
    });
  }
  const bad = units.find((u) => !Number.isFinite(Math.fround(u.reward)));
  if (bad !== undefined) {
    throw new LeydenError("reward_not_finite", `A rollout of group ${bad.group} has the reward ${bad.reward}.`, {
      do: "Make the grader return a finite number, or let the batch treat it as missing.",
    });
  }
  const { estimator: name, ...options } = config;
  const estimator = advantageEstimators[name] as AdvantageEstimator<object>;
  checkOptions(estimator, options);
  return estimator.estimate(units, { ...estimator.defaults, ...options });
}

/** True where an estimator's returns are the rewards; else they are its advantages, as verl states them. */
export function returnsRewards({ estimator }: AdvantageConfig): boolean {
  return advantageEstimators[estimator].returns === "reward";
}

/** True when an advantage depends on nothing outside its own group, so that groups can be taken one by one. */
export function isGroupLocal(config: AdvantageConfig): boolean {
  if (config.estimator === "grpo") return config.std !== "batch";
  return ["dr_grpo", "rloo", "opo", "pass_at_k", "maxrl", "remax"].includes(config.estimator);
}
