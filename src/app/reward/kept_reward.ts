import { readRunConfig } from "../../experiment/config.ts";
import type { ExperimentConfig } from "../../schema/experiment.ts";
import type { Files } from "../../schema/files.ts";
import { editedRewardName } from "./edited_reward_name.ts";

/**
 * The configuration that a run goes on with: a reward function that was written in the page belongs to the run and is
 * kept with it, while the experiment's own configuration knows nothing of it.
 * @throws FormatError "run_config" when what the run kept is damaged
 */
export async function withKeptReward(
  files: Files,
  runFolder: string,
  config: ExperimentConfig,
  say: (line: string) => void,
): Promise<ExperimentConfig> {
  const { rollout: kept } = (await readRunConfig(files, runFolder)) ?? config;
  if (kept.reward !== "grader" || kept.grader !== editedRewardName) return config;
  say("The run's reward is the function that was written in the page; --set rollout.grader=NAME takes another.");
  const { reward, grader, graderOptions } = kept;
  return { ...config, rollout: { ...config.rollout, reward, grader, graderOptions } };
}
