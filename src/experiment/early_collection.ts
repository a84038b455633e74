import { type AdvantageConfig, isGroupLocal } from "../rl/advantages/registry.ts";
import type { ExperimentConfig } from "../schema/experiment.ts";
import type { TrainConfig } from "../schema/train_config.ts";

/** What couples the groups of an update, or its steps, in words. */
function couplings(train: TrainConfig): string[] {
  const { advantage, advantageOptions, miniBatches, epochs, critic, policies } = train;
  const isLocal = isGroupLocal({ estimator: advantage, ...advantageOptions } as AdvantageConfig);
  const estimator = advantage === "grpo" ? `${advantage} with std batch` : advantage;
  const normalises = train.correction !== "none" && train.correctionNormalise;
  const rules: [boolean, string][] = [
    [!isLocal, `train.advantage is ${estimator}, which compares all groups of an update`],
    [miniBatches > 1, `train.miniBatches is ${miniBatches}, over which the groups are dealt out`],
    [epochs > 1, `train.epochs is ${epochs}, and a pass needs the weights of the one before`],
    [critic !== "none", `train.critic is ${critic}, which learns from all groups first`],
    [normalises, "train.correctionNormalise divides by the mean weight of all groups"],
    [policies.length > 1, `train.policies names ${policies.length}, each with an update of its own`],
  ];
  return rules.flatMap(([holds, reason]) => (holds ? [reason] : []));
}

/**
 * Why the gradients of a finished group wait for the other groups of its update, in words; none where they are computed as
 * soon as it has finished. They can be where its advantages and weights depend on nothing outside the group and the
 * update is one optimizer step: what all weights have in common is then one factor, which the step applies, and what
 * other models say of its tokens under the present weights does not change until that step.
 */
export function reasonsToWait({ schedule, train }: ExperimentConfig): string[] {
  if (schedule.mode !== "interleaved") return [`schedule.mode is ${schedule.mode}`];
  const unbound =
    schedule.maxAge === 0 ? ["schedule.maxAge is 0, so that an update equals sync mode's bit by bit"] : [];
  return [...unbound, ...couplings(train)];
}
