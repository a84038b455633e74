// Plan: every run of every lesson is known again by its configuration; other experiments and other values are not.
import { describe, expect, it } from "vitest";
import { lessons } from "../../examples/lessons/lessons.ts";
import { toyExperiment } from "../../src/app/lesson/experiments.ts";
import { isThatRun } from "../../src/app/page/lessons/started_run.ts";
import type { ExperimentConfig } from "../../src/schema/experiment.ts";
import { lessonExperimentId } from "../../src/schema/lesson.ts";
import { idleRun, type RunStatus } from "../../src/schema/run_control.ts";
import { configOf } from "./lesson_rig.ts";

describe("a run that a lesson started", () => {
  const status = (config: ExperimentConfig): RunStatus => ({
    ...idleRun,
    phase: "running",
    experiment: lessonExperimentId,
    config,
  });

  it("is known by its configuration, with the defaults that were added to it", () => {
    for (const { lesson: real } of lessons) {
      for (const own of [...real.experiments, ...real.experiments.map((one) => toyExperiment(real, one))])
        expect(isThatRun(status(configOf(own.overrides)), own, lessonExperimentId), `${real.id} ${own.key}`).toBe(true);
    }
  });

  it("is none of another experiment, and none with other values", () => {
    const overrides = { "train.updates": 3, "rollout.command": ["node", "agent.ts", "a"] };
    const run = status(configOf(overrides));
    expect(isThatRun(run, { overrides }, "calc")).toBe(false);
    expect(isThatRun({ ...run, config: null }, { overrides }, lessonExperimentId)).toBe(false);
    const others = [
      { "train.updates": 4 },
      { "rollout.command": ["node", "agent.ts"] },
      { "rollout.env": { CLERK_TOOL_MS: "1" } },
      { "train.noSuchValue": 1 },
    ];
    for (const other of others) expect(isThatRun(run, { overrides: other }, lessonExperimentId)).toBe(false);
  });
});
