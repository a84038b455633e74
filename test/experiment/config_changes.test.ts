import { describe, expect, it } from "vitest";
import { parseConfig, parseShape } from "../../src/experiment/config.ts";
import { configChanges, rolloutChanges } from "../../src/experiment/config_changes.ts";

const base = {
  model: { path: "m" },
  task: { dataset: "./tasks.ts" },
  rollout: { command: ["agent"], env: { A: "1" } },
};

describe("what has changed in a configuration", () => {
  it("is nothing where nothing has", () => {
    expect(configChanges(parseConfig(base), parseConfig(structuredClone(base)))).toEqual([]);
  });

  it("is told by path, with both values, those included that only one has", () => {
    const before = parseConfig({ ...base, seed: 1 });
    const after = parseConfig({
      ...base,
      seed: 2,
      train: { updates: 7 },
      rollout: { command: ["agent", "x"], stdin: "a" },
    });
    expect(configChanges(before, after)).toEqual([
      "seed 1 -> 2",
      'rollout.command ["agent"] -> ["agent","x"]',
      'rollout.env {"A":"1"} -> none',
      `train.updates ${before.train.updates} -> 7`,
      'rollout.stdin none -> "a"',
    ]);
  });

  it("is none in a clip range that is given as its loss's own, or to a loss that reads none", () => {
    // As runs have recorded it: a start refuses a range that its loss does not read.
    const of = (train: object) => parseShape({ ...base, train });
    const given = { clipLow: 0.2, clipHigh: 0.28 };
    for (const loss of ["ppo", "cispo", "sapo", "reinforce", "dro"]) {
      expect(configChanges(of({ loss, ...given }), of({ loss })), loss).toEqual([]);
    }
    expect(configChanges(of({ loss: "gspo", ...given }), of({ loss: "gspo" }))).toEqual([
      "train.clipLow 0.2 -> 0.0003",
      "train.clipHigh 0.28 -> 0.0004",
    ]);
    expect(configChanges(of({ loss: "dppo_tv", ...given }), of({ loss: "dppo_tv" }))).toEqual([
      "train.clipHigh 0.28 -> 0.2",
    ]);
  });
});

describe("what has changed of what rollouts are made with", () => {
  const changed = (more: object): string[] => rolloutChanges(parseConfig(base), parseConfig({ ...base, ...more }));

  it.each([
    ["seed", { seed: 2 }, "seed 1 -> 2"],
    ["reward", { rollout: { ...base.rollout, reward: "exit" } }, 'rollout.reward "grader" -> "exit"'],
    ["dataset", { task: { dataset: "./others.ts" } }, 'task.dataset "./tasks.ts" -> "./others.ts"'],
    ["model", { model: { path: "n" } }, 'model.path "m" -> "n"'],
    ["temperature", { train: { temperature: 0.5 } }, "train.temperature 1 -> 0.5"],
    ["adapter", { train: { loraRank: 4 } }, "train.loraRank 0 -> 4"],
  ])("is its %s", (_, more, text) => {
    expect(changed(more)).toEqual([text]);
  });

  it("is nothing of what only says how they are trained, validated or kept", () => {
    const train = { updates: 99, learningRate: 0.5, loss: "gspo", advantage: "rloo", groupSize: 8, tasksPerUpdate: 3 };
    expect(changed({ train, eval: { every: 2 }, store: { keep: 9 }, schedule: { mode: "collocated" } })).toEqual([]);
  });

  it("is nothing of how many rollouts are at work at once, and how fast", () => {
    const model = { path: "m", kvTokens: 4096, maxSequences: 3, burst: 2, prefillTokens: 64 };
    const rollout = { ...base.rollout, concurrency: 3, startConcurrency: 1, nice: 5, queueSeconds: 9, retries: 4 };
    expect(changed({ model, rollout })).toEqual([]);
    expect(changed({ model: { ...model, kvFormat: "f16" } })).toEqual(['model.kvFormat "f32" -> "f16"']);
  });
});
