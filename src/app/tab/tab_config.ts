import { parseConfig, withOverrides } from "../../experiment/config.ts";
import { valueAt } from "../../experiment/config_values.ts";
import type { ExperimentConfig } from "../../schema/experiment.ts";
import { editedRewardName } from "../reward/edited_reward_name.ts";
import type { TabExperiment } from "./experiments.ts";

/**
 * A configuration that was kept with a run as this tab goes on with it: with the model's place as the experiment names it.
 */
export function placedConfig(kept: ExperimentConfig, { config }: Pick<TabExperiment, "config">): ExperimentConfig {
  const { path } = parseConfig(config).model;
  // Random weights are drawn into the run's own folder, whose place on another machine means nothing here.
  return kept.model.randomSeed === 0 ? kept : { ...kept, model: { ...kept.model, path } };
}

/**
 * A configuration with the experiment's own values at some paths: also none, where the experiment leaves it to the default.
 */
function withOwnValues(config: unknown, own: unknown, paths: readonly string[]): unknown {
  const out = structuredClone(config);
  for (const path of paths) {
    const at = path.lastIndexOf(".");
    const section = (at < 0 ? out : valueAt(out, path.slice(0, at))) as Record<string, unknown> | undefined;
    if (section === undefined) continue;
    const value = valueAt(own, path);
    if (value === undefined) delete section[path.slice(at + 1)];
    else section[path.slice(at + 1)] = structuredClone(value);
  }
  return out;
}

/**
 * The configuration of a start: the experiment's, or that which its run was begun with, then a person's values by dotted
 * path, null for the experiment's own, and the reward they wrote.
 * @throws ConfigError naming every fault
 */
export function tabConfig(
  experiment: Pick<TabExperiment, "config">,
  kept: ExperimentConfig | null,
  overrides: Readonly<Record<string, unknown>>,
  reward: string,
): ExperimentConfig {
  const base = kept === null ? experiment.config : placedConfig(kept, experiment);
  const own = parseConfig(experiment.config);
  // What neither of them has cannot be set back: the configuration's reader says that it knows no such key.
  const isSetBack = ([path, value]: [string, unknown]): boolean =>
    value === null && (valueAt(base, path) ?? valueAt(own, path)) !== undefined;
  const asked = Object.entries(overrides);
  const setBack = asked.filter(isSetBack).map(([path]) => path);
  const given = asked.filter((entry) => !isSetBack(entry)).map(([path, value]) => `${path}=${JSON.stringify(value)}`);
  const config = parseConfig(withOverrides(withOwnValues(base, experiment.config, setBack), given), kept);
  if (reward === "") return config;
  const edited = { reward: "grader" as const, grader: editedRewardName, graderOptions: { source: reward } };
  return { ...config, rollout: { ...config.rollout, ...edited } };
}
