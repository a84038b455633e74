/** Which finished groups are replaced by other tasks' groups before an update. */
import type { GroupRecord, RolloutRecord } from "../rl/batch/batch_input.ts";
import { batchDefaults } from "../rl/batch/batch_input.ts";
import { select } from "../rl/batch/select.ts";
import type { ExperimentConfig } from "../schema/experiment.ts";
import { isReward } from "../schema/reward.ts";
import type { TrainConfig } from "../schema/train_config.ts";
import { objectiveOf } from "./objective.ts";
import { groupsOfPolicy } from "./policies.ts";

/** Groups of equal rewards that are replaced before an update, per task it takes, at most. */
export const replacedPerTask = 4;

/** Rewards of rollouts as they are trained: a missing one is `missingReward`, or left out where that says "drop". */
export function rewardsOf(rollouts: readonly RolloutRecord[], missingReward: TrainConfig["missingReward"]): number[] {
  const missing = missingReward === "drop" ? [] : [missingReward];
  return rollouts.flatMap(({ reward }) => (isReward(reward) ? [reward] : missing));
}

/**
 * True where groups of equal rewards are replaced and this one is such: by the update's own choice nothing of it would be
 * trained, by none of several policies. A group of one rollout is compared with nothing and stays.
 */
export function isReplaced(group: GroupRecord, { seed, train }: ExperimentConfig): boolean {
  if (train.zeroVariance !== "refill" || group.rollouts.length < 2) return false;
  const options = { ...batchDefaults, ...objectiveOf(train, { seed, update: 1, klCoef: train.klCoef }).batch };
  const taken = (own: readonly GroupRecord[]) => select(own, options).rollouts;
  const { policies } = train;
  if (policies.length < 2) return taken([group]).length === 0;
  return policies.every((policy) => taken(groupsOfPolicy([group], policy)).every(({ calls }) => calls.length === 0));
}
