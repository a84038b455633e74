// What a run is one of, by the configuration that came with it.
import { describe, expect, it } from "vitest";
import { recognisedExperiment } from "../../../src/app/tab/arriving_run.ts";
import { offeredExperiments } from "../../../src/app/tab/experiments.ts";
import { parseConfig, withOverrides } from "../../../src/experiment/config.ts";
import type { ExperimentConfig } from "../../../src/schema/experiment.ts";

const asked = ["train.updates=2", "train.tasksPerUpdate=3", "train.groupSize=4", "rollout.concurrency=8", "seed=9"];
const edited = ["rollout.grader=edited", 'rollout.graderOptions={"source":"() => 1"}', "model.path=/models/mine"];

function configOf(id: string, overrides: readonly string[]): ExperimentConfig {
  const config = offeredExperiments.find((experiment) => experiment.id === id)?.config;
  return parseConfig(withOverrides(config, overrides));
}

describe("a run that arrives", () => {
  it.each(offeredExperiments.map(({ id }) => id))("is one of %s, with a person's values and reward too", (id) => {
    for (const overrides of [[], asked, edited, [...asked, "model.path=/home/x/model"]]) {
      expect(recognisedExperiment(configOf(id, overrides)), overrides.join(" ")).toBe(id);
    }
  });

  it("is one of none when its agent is another, or two experiments are as near", () => {
    expect(recognisedExperiment(configOf("calc", ['rollout.command=["node","mine.ts"]']))).toBe(null);
    expect(recognisedExperiment(configOf("calc", ["task.dataset=./others.ts"]))).toBe(null);
    // Vault and team differ in these alone.
    const between = ["train.updates=1", "train.tasksPerUpdate=1", 'rollout.graderOptions={"field":"x"}'];
    expect(recognisedExperiment(configOf("team", between))).toBe(null);
  });
});
