import { describe, expect, it } from "vitest";
import { parseConfig, withOverrides } from "../../src/experiment/config.ts";

const minimal = { model: { path: "m" }, task: { dataset: "d.ts" }, rollout: { command: ["node", "a.js"] } };

describe("parseConfig", () => {
  it("fills in every default", () => {
    const config = parseConfig(minimal);
    expect(config.train).toMatchObject({
      advantage: "grpo",
      normalisation: "rollout",
      clipLow: "auto",
      clipHigh: "auto",
    });
    expect(config.schedule).toMatchObject({ mode: "sync", activeGroups: 0 });
    expect(JSON.parse(JSON.stringify(config))).toEqual(config);
  });

  it("names unknown keys with the nearest known one", () => {
    const wrong = { ...minimal, train: { learningrate: 1 }, evaluation: {} };
    expect(() => parseConfig(wrong)).toThrow(/unknown key train\.learningrate.*learningRate/);
    expect(() => parseConfig(wrong)).toThrow(/unknown key evaluation/);
  });

  it("names values out of range by their path", () => {
    expect(() => parseConfig({ ...minimal, train: { groupSize: 0 } })).toThrow(/train\.groupSize/);
    expect(() => parseConfig({ ...minimal, rollout: { command: [] } })).toThrow(/rollout\.command/);
  });

  it("refuses an objective that only rollouts would show to be impossible", () => {
    const train = (settings: object) => () => parseConfig({ ...minimal, train: settings });
    expect(train({ advantage: "grpoo" })).toThrow('There is no advantage estimator "grpoo".');
    expect(train({ advantage: "rloo", advantageOptions: { scale: 1 } })).toThrow('has no option "scale"');
    expect(train({ normalisation: "rollouts" })).toThrow('There is no normalisation "rollouts".');
    expect(train({ normalisation: "seq-mean-token-sum-norm" })).toThrow("divides by a length, which is 0");
    expect(train({ advantage: "remax" })).toThrow("train.advantage is remax; a run draws no greedy rollouts");
    for (const advantage of ["grpo", "dr_grpo", "rloo", "opo", "gpg", "maxrl", "reinforce_plus_plus"]) {
      expect(train({ advantage })().train.advantage).toBe(advantage);
    }
  });

  it("gives collocated mode twice the groups of an update, and refuses too few", () => {
    expect(parseConfig({ ...minimal, schedule: { mode: "collocated" } }).schedule.activeGroups).toBe(16);
    expect(() => parseConfig({ ...minimal, schedule: { mode: "collocated", activeGroups: 8 } })).toThrow(
      "schedule.activeGroups is 8; collocated mode needs more than train.tasksPerUpdate (8).",
    );
  });
});

describe("withOverrides", () => {
  it("sets values by dotted path, JSON where it is JSON", () => {
    const out = withOverrides(minimal, ["train.learningRate=5e-4", "model.name=mine", "seed=7", "rollout.env.A=1"]);
    expect(out).toMatchObject({
      train: { learningRate: 5e-4 },
      model: { path: "m", name: "mine" },
      seed: 7,
      rollout: { env: { A: 1 } },
    });
    expect(minimal).not.toHaveProperty("train");
  });

  it("refuses what is no path", () => {
    expect(() => withOverrides(minimal, ["train.learningRate"])).toThrow(/not of the form section\.key=value/);
    expect(() => withOverrides(minimal, ["model.path.x=1"])).toThrow(/goes into "path", which holds a value/);
  });
});
