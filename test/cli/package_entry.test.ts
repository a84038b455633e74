// What `import … from "leyden"` gives: nothing more by accident, and enough to write each kind of module.

import type { Dataset, ExperimentInput, Grader, PrepareAgent, RolloutHooks } from "leyden";
import * as leyden from "leyden";
import { describe, expect, it } from "vitest";

describe("package entry", () => {
  it("exports exactly this", () => {
    expect(Object.keys(leyden).sort()).toEqual([
      "CancelledError",
      "ConfigError",
      "DeviceError",
      "EnvironmentError",
      "FormatError",
      "GraderError",
      "HookError",
      "IndexError",
      "LeydenError",
      "NoRunnerError",
      "Rng",
      "ShapeError",
      "VirtualRun",
      "buildBatch",
      "defineExperiment",
      "deriveKey",
      "parseConfig",
      "seedKey",
    ]);
  });

  it("types a configuration, which stays as it was written", () => {
    const written: ExperimentInput = {
      model: { path: "m" },
      task: { dataset: "./tasks.ts" },
      rollout: { command: ["agent"] },
      train: { updates: 3 },
    };
    expect(leyden.defineExperiment(written)).toBe(written);
    expect(leyden.parseConfig(written).train).toMatchObject({ updates: 3, groupSize: 8 });
    const mistyped = { ...written, trian: {} };
    expect(() => leyden.parseConfig(mistyped)).toThrow(leyden.ConfigError);
  });

  it("types the modules a configuration names", async () => {
    const row = { id: "t", input: { n: 1 }, hidden: { answer: "1" } };
    const dataset: Dataset = { train: () => ({ length: 1, at: () => row }), heldOut: [row] };
    const hooks: RolloutHooks = { onEnqueue: (create) => ({ ...create, is_train: false }) };
    const prepare: PrepareAgent = ({ agent }) => ({ ...agent, command: [...agent.command, "--quiet"] });
    const grader: Pick<Grader<null>, "grade"> = {
      grade: ({ finalMessage, task }) => ({ value: finalMessage === task.hidden.answer ? 1 : 0, reason: "exact" }),
    };
    expect(dataset.train(1).at(0)).toBe(row);
    expect(await hooks.onEnqueue?.({ input: 1 })).toEqual({ input: 1, is_train: false });
    const context = { agent: { command: ["a"] }, folder: "", cacheFolder: "", say: () => undefined };
    const bundle = async () => context.agent;
    expect(await prepare({ ...context, bundle })).toEqual({ command: ["a", "--quiet"] });
    const judged = { task: row, finalMessage: "1", calls: [], exitCode: 0, workspace: null };
    expect(await grader.grade(judged, null, {} as never)).toEqual({ value: 1, reason: "exact" });
  });
});
