import { ConfigError } from "../core/errors.ts";
import { type AdvantageConfig, advantageEstimators, estimateAdvantages } from "../rl/advantages/registry.ts";
import {
  estimateTokenAdvantages,
  isTokenLevel,
  needsValues,
  tokenEstimators,
} from "../rl/advantages/token_registry.ts";
import { rejectionKinds } from "../rl/correction/rejection.ts";
import { type Normalisation, rowWeights } from "../rl/normalisation.ts";
import type { RolloutSettings } from "../schema/experiment.ts";
import type { Rejection, TrainConfig } from "../schema/train_config.ts";

/** What only rollouts would bring to light otherwise, after minutes of work. @throws ConfigError */
export function checkObjective(train: TrainConfig): void {
  checkAdvantage(train);
  checkPolicies(train);
  rowWeights([], train.normalisation as Normalisation, train.normalisationLength);
  for (const rejection of train.rejections) checkRejection(rejection);
  if (train.dualClip > 0 && train.dualClip <= 1) {
    throw new ConfigError(
      `train.dualClip is ${train.dualClip}; a bound of at most 1 times the advantage stops the gradient of ratios near 1.`,
      { do: "Give a bound above 1, such as 3, or 0 for none." },
    );
  }
  if (train.loss === "dro" && train.correction !== "none") {
    throw new ConfigError(`train.correction is ${train.correction}; dro has a term that its weights do not reach.`, {
      do: "Use another loss, or set train.correction to none.",
    });
  }
  if (train.correctionBound === "mask" && train.correctionLow > train.correctionHigh) {
    throw new ConfigError(
      `train.correctionLow is ${train.correctionLow}, above train.correctionHigh (${train.correctionHigh}).`,
      { do: "Give bounds that some weight can lie between." },
    );
  }
}

/** Some token must be able to pass; the bounds of k1 are ratios, where `lower` is 1 / upper by default. */
function checkRejection({ kind, upper, lower }: Rejection): void {
  if (!(rejectionKinds as readonly string[]).includes(kind)) {
    throw new ConfigError(`train.rejections names the statistic "${kind}", which does not exist.`, {
      do: `Use one of ${rejectionKinds.join(", ")}.`,
    });
  }
  if (!kind.endsWith("_k1")) {
    if (lower === undefined) return;
    throw new ConfigError(`train.rejections gives ${kind} the lower bound ${lower}; only k1 has one.`, {
      do: "Leave lower out.",
    });
  }
  const least = lower ?? 1 / upper;
  if (least <= upper) return;
  const from = lower === undefined ? " (1 / upper, by default)" : "";
  throw new ConfigError(
    `train.rejections bounds ${kind} below by ${least}${from}, above its upper bound ${upper}: nothing would be kept.`,
    { do: "Give bounds that some ratio can lie between, such as an upper bound above 1." },
  );
}

/** Several policies are adapters over one frozen model. */
function checkPolicies({ policies, loraRank, critic }: TrainConfig): void {
  if (policies.length === 0) return;
  if (new Set(policies).size < policies.length) {
    throw new ConfigError(`train.policies names a policy twice: ${policies.join(", ")}.`, { do: "Name each once." });
  }
  if (loraRank === 0) {
    throw new ConfigError("train.policies asks for adapters; train.loraRank is 0.", {
      do: "Set train.loraRank, for example to 16, or leave train.policies empty.",
    });
  }
  if (policies.length > 1 && critic === "separate") {
    throw new ConfigError(`train.critic is ${critic}; one critic cannot judge ${policies.length} policies.`, {
      do: "Set train.critic to head, use an estimator without a critic, or train one policy.",
    });
  }
}

function checkAdvantage({ advantage, advantageOptions, critic, level }: TrainConfig): void {
  const config = { estimator: advantage, ...advantageOptions };
  if (!isTokenLevel(config)) {
    if (!Object.hasOwn(advantageEstimators, advantage)) {
      const known = [...Object.keys(advantageEstimators), ...Object.keys(tokenEstimators)];
      throw new ConfigError(`There is no advantage estimator "${advantage}".`, {
        do: `Use one of ${known.join(", ")}.`,
      });
    }
    estimateAdvantages([], config as AdvantageConfig);
    if (advantage === "remax") {
      throw new ConfigError("train.advantage is remax; a run draws no greedy rollouts to take its baseline from.", {
        do: "Use another estimator, such as rloo.",
      });
    }
  } else {
    estimateTokenAdvantages([], config);
    if (level !== "rollout") {
      throw new ConfigError(`train.level is ${level}; ${advantage} has an advantage for every token.`, {
        do: "Leave train.level at rollout, or use an estimator over scalar rewards.",
      });
    }
  }
  checkCritic(advantage, critic, needsValues(config));
}

/** A critic learns where its values are used, and nowhere else. */
function checkCritic(advantage: string, critic: TrainConfig["critic"], takesValues: boolean): void {
  if (takesValues && critic === "none") {
    throw new ConfigError(`train.advantage is ${advantage}, which takes values from a critic; train.critic is none.`, {
      do: "Set train.critic to head or separate.",
    });
  }
  if (takesValues || critic === "none") return;
  throw new ConfigError(`train.critic is ${critic}; train.advantage is ${advantage}, which takes no values from it.`, {
    do: "Set train.advantage to gae, or train.critic to none.",
  });
}

/** Either an agent's command line or a module of completions. @throws ConfigError */
export function checkAgent({ command, completion }: RolloutSettings): void {
  if (command.length > 0 && completion === "") return;
  if (command.length === 0 && completion !== "") return;
  const both = command.length > 0;
  throw new ConfigError(
    `${both ? "Both" : "Neither"} rollout.command ${both ? "and" : "nor"} rollout.completion ${both ? "are" : "is"} given.`,
    {
      do: "Give rollout.command for an agent, or rollout.completion for tasks that one reply answers.",
    },
  );
}
