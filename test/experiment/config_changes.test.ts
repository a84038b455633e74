import { describe, expect, it } from "vitest";
import { parseConfig } from "../../src/experiment/config.ts";
import { configChanges } from "../../src/experiment/config_changes.ts";

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
    const of = (train: object) => parseConfig({ ...base, train });
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
