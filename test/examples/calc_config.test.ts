import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { dataset } from "../../examples/calc/tasks.ts";
import { prepareAgent } from "../../src/app/prepare_agent.ts";
import { parseConfig } from "../../src/experiment/config.ts";
import { ownClipRange } from "../../src/experiment/objective.ts";
import { nodeFiles } from "../../src/platform/node_files.ts";
import { bindGrader } from "../../src/rollout/graders/registry.ts";
import { fillPlaceholders, type PlaceholderValues } from "../../src/rollout/placeholders.ts";
import type { GradeTools } from "../../src/schema/grader.ts";
import { tempFolder } from "../rollout/rig.ts";

const folder = new URL("../../examples/calc/", import.meta.url);
const config = parseConfig(JSON.parse(readFileSync(new URL("config.json", folder), "utf8")));

describe("calc configuration", () => {
  it("is complete, and names files that exist", () => {
    const { model, task, rollout } = config;
    for (const path of [`${model.path}/tokenizer.json`, task.dataset, rollout.prepare]) {
      expect(existsSync(new URL(path, folder)), path).toBe(true);
    }
  });

  it("starts a bundle of the agent", async () => {
    const { command } = config.rollout;
    const context = { files: nodeFiles, folder: folder.pathname, cacheFolder: tempFolder(), say: () => undefined };
    const agent = await prepareAgent({ command }, new URL(config.rollout.prepare, folder).pathname, context);
    expect(agent.command.slice(-2)).toEqual([expect.stringMatching(/agent_\w+\.mjs$/), "{input.question}"]);
  });

  it("starts the agent on a task's question and grades by its answer", async () => {
    const task = dataset.train(1).at(0);
    const values = { input: task.input } as PlaceholderValues;
    expect(config.rollout.command.map((part) => fillPlaceholders(part, values)).at(-1)).toBe(task.input.question);
    const grader = bindGrader(config.rollout.grader, config.rollout.graderOptions);
    const input = { task, calls: [], exitCode: 0, workspace: null };
    const grade = (finalMessage: string) => grader.grade({ ...input, finalMessage }, {} as GradeTools);
    expect((await grade(`The answer is ${task.hidden.answer}.`)).value).toBe(1);
    expect((await grade(`The answer is ${Number(task.hidden.answer) + 1}.`)).value).toBe(0);
  });

  it("has the recipe's settings", () => {
    expect(config.train).toMatchObject({
      updates: 12,
      tasksPerUpdate: 8,
      groupSize: 8,
      advantage: "grpo",
      normalisation: "rollout",
      loss: "ppo",
      clipLow: "auto",
      clipHigh: "auto",
      dualClip: 3,
      klCoef: 0,
      entropyCoef: 0,
      learningRate: 1e-3,
      beta1: 0.9,
      beta2: 0.95,
      weightDecay: 0,
      maxGradNorm: 1,
    });
    expect(ownClipRange(config.train.loss)).toEqual({ clipLow: 0.2, clipHigh: 0.28 });
  });
});
