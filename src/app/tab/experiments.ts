import calcConfig from "../../../examples/calc/config.json" with { type: "json" };
import clerkConfig from "../../../examples/lessons/clerk/config.json" with { type: "json" };
import teamConfig from "../../../examples/team/config.json" with { type: "json" };
import vaultConfig from "../../../examples/vault/config.json" with { type: "json" };
import { ConfigError } from "../../core/errors.ts";
import { didYouMean } from "../../core/nearest.ts";
import { parseConfig } from "../../experiment/config.ts";
import { lessonExperimentId } from "../../schema/lesson.ts";
import type { ExperimentChoice } from "../../schema/run_control.ts";
import texts from "../experiment_texts.en.json" with { type: "json" };
import { type ModelPreset, modelPresets } from "../model_presets.ts";

/** A module of an experiment, loaded when it is first needed. */
type LoadModule = () => Promise<Record<string, unknown>>;

/** An experiment that a tab can run: the same configuration, tasks, agent and model as elsewhere. */
export interface TabExperiment {
  readonly id: string;
  readonly title: string;
  readonly summary: string;
  /** The experiment that this one is for lessons, whose runs are in a place of their own; it is not offered. */
  readonly lessonsOf?: string;
  /** As in the experiment's folder. */
  readonly config: unknown;
  /** Its model comes with the page as models/NAME. */
  readonly model: string;
  /** Shape of a model with random weights, for one of which only the tokenizer comes with the page. */
  readonly preset?: ModelPreset;
  /** Modules by the paths that the configuration gives them. */
  readonly modules: Readonly<Record<string, LoadModule>>;
  /** Scripts of its command line by name, and where they come with the page. */
  readonly scripts: Readonly<Record<string, string>>;
}

const calc = { model: "calc", modules: { "./tasks.ts": () => import("../../../examples/calc/tasks.ts") } };

const clerk = {
  summary: texts["experiment.clerk.summary"],
  config: clerkConfig,
  model: "clerk",
  modules: { "./tasks.ts": () => import("../../../examples/lessons/clerk/tasks.ts") },
  scripts: { "agent.ts": "agents/clerk.js" },
};

/** A configuration for programs outside the tab: their prompts are long, and nothing is trained. */
const trialConfig = {
  ...calcConfig,
  model: { path: "./model", kvTokens: 131_072, maxSequences: 8 },
  train: { updates: 1, tasksPerUpdate: 1, groupSize: 2 },
};

/**
 * Every experiment of a tab. A new one: its folder in examples, an entry here. examples/digits is not among them: its 200
 * updates of 800 completions each, with a critic of its own, are hours of work for a page that must stay open.
 */
export const tabExperiments: readonly TabExperiment[] = [
  {
    id: "calc",
    title: texts["experiment.calc.title"],
    summary: texts["experiment.calc.summary"],
    config: calcConfig,
    ...calc,
    scripts: { "agent.ts": "agents/calc.js" },
  },
  { id: "clerk", title: texts["experiment.clerk.title"], ...clerk },
  { id: lessonExperimentId, title: texts["experiment.lesson.title"], ...clerk, lessonsOf: "clerk" },
  {
    id: "vault",
    title: texts["experiment.vault.title"],
    summary: texts["experiment.vault.summary"],
    config: vaultConfig,
    model: "vault",
    modules: { "./tasks.ts": () => import("../../../examples/vault/tasks.ts") },
    scripts: { "agent.ts": "agents/vault.js" },
  },
  {
    id: "team",
    title: texts["experiment.team.title"],
    summary: texts["experiment.team.summary"],
    config: teamConfig,
    model: "team",
    modules: { "./tasks.ts": () => import("../../../examples/team/tasks.ts") },
    scripts: { "agent.ts": "agents/team.js" },
  },
  {
    id: "trial",
    title: texts["experiment.trial.title"],
    summary: texts["experiment.trial.summary"],
    config: trialConfig,
    ...calc,
    model: "trial",
    preset: modelPresets.scripted as ModelPreset,
    scripts: { "agent.ts": "agents/calc.js" },
  },
];

/** Those that people choose from. */
export const offeredExperiments: readonly TabExperiment[] = tabExperiments.filter((e) => e.lessonsOf === undefined);

/** The experiment of an id. @throws ConfigError naming the nearest */
export function tabExperiment(id: string): TabExperiment {
  const found = tabExperiments.find((experiment) => experiment.id === id);
  if (found !== undefined) return found;
  const known = offeredExperiments.map((experiment) => experiment.id);
  throw new ConfigError(`There is no experiment "${id}" (${didYouMean(id, known)}).`, {
    do: `Choose one of: ${known.join(", ")}.`,
  });
}

/** The experiments as they are offered; `keptOf` knows whether a run of one is there to be continued, and what with. */
export function tabChoices(
  keptOf: (experiment: TabExperiment) => Promise<Pick<ExperimentChoice, "resumable" | "kept">>,
): Promise<ExperimentChoice[]> {
  return Promise.all(
    offeredExperiments.map(async (experiment) => {
      const { id, title, summary, config, model } = experiment;
      const choice = { id, title, summary, config: parseConfig(config), modelFolder: `models/${model}` };
      return { ...choice, ...(await keptOf(experiment)) };
    }),
  );
}
