import { parseConfig, withOverrides } from "../../experiment/config.ts";
import type { ExperimentConfig } from "../../schema/experiment.ts";
import { editedRewardName } from "../reward/edited_reward.ts";
import type { TabExperiment } from "./experiments.ts";

/** A configuration that was kept with a run, with the model's place as the experiment names it. */
function placed(kept: ExperimentConfig, { config }: TabExperiment): unknown {
  const { path } = parseConfig(config).model;
  // Random weights are drawn into the run's own folder, whose place on another machine means nothing here.
  return kept.model.randomSeed === 0 ? kept : { ...kept, model: { ...kept.model, path } };
}

/**
 * The configuration of a start: the experiment's, or that which its run was begun with, then a person's values by dotted
 * path, and the reward they wrote.
 * @throws ConfigError naming every fault
 */
export function tabConfig(
  experiment: TabExperiment,
  kept: ExperimentConfig | null,
  overrides: Readonly<Record<string, unknown>>,
  reward: string,
): ExperimentConfig {
  const given = Object.entries(overrides).map(([path, value]) => `${path}=${JSON.stringify(value)}`);
  const config = parseConfig(withOverrides(kept === null ? experiment.config : placed(kept, experiment), given));
  if (reward === "") return config;
  const edited = { reward: "grader" as const, grader: editedRewardName, graderOptions: { source: reward } };
  return { ...config, rollout: { ...config.rollout, ...edited } };
}
