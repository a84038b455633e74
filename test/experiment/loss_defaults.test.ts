// Plan: what reaches the device of each loss that a configuration only names is what the loss's file states; a clip range
// that is given stays; a range of another loss's size is told of.
import { describe, expect, it } from "vitest";
import { parseConfig } from "../../src/experiment/config.ts";
import { objectiveOf } from "../../src/experiment/objective.ts";
import { runNotes } from "../../src/experiment/run_notes.ts";
import { lossKinds, lossValues } from "../../src/ops/loss_settings.ts";
import { policyLosses } from "../../src/rl/losses/registry.ts";
import type { TrainConfig } from "../../src/schema/train_config.ts";

type LossName = TrainConfig["loss"];

function configOf(train: object): ReturnType<typeof parseConfig> {
  return parseConfig({ model: { path: "m" }, task: { dataset: "d" }, rollout: { command: ["c"] }, train });
}

/** The plan values that a run sets for its loss. */
function onDevice(train: object): Record<string, unknown> {
  return lossValues(objectiveOf(configOf(train).train, { seed: 1, update: 1, klCoef: 0 }).loss);
}

/** What the authors of each loss use: the numbers of its file, by the names of the plan's values. */
const expected: Record<LossName, Record<string, number>> = {
  ppo: { "loss.clip_low": 0.2, "loss.clip_high": 0.28, "loss.dual_clip": 3 },
  gspo: { "loss.clip_low": 3e-4, "loss.clip_high": 4e-4 },
  gmpo: { "loss.clip_low": 0.4, "loss.clip_high": 0.4, "loss.unit_low": 0.4, "loss.unit_high": 0.4 },
  cispo: { "loss.clip_low": 0.2, "loss.clip_high": 0.28 },
  sapo: { "loss.tau_positive": 1, "loss.tau_negative": 1.05 },
  dppo_tv: { "loss.clip_low": 0.2, "loss.clip_high": 0.2, "loss.cap": 20 },
  reinforce: { "loss.cap": 0 },
  dro: { "loss.beta": 0.1 },
};

/** Options of src/rl/losses by the device's names. */
const deviceNames: Record<string, string> = {
  ...{ clipLow: "clip_low", clipHigh: "clip_high", maxDecrease: "clip_low", maxIncrease: "clip_high" },
  ...{ dualClip: "dual_clip", maxRatio: "cap", cap: "cap", beta: "beta" },
  ...{ tauPositive: "tau_positive", tauNegative: "tau_negative" },
};

describe("a loss that is only named", () => {
  for (const loss of lossKinds.filter((kind) => kind !== "cross_entropy")) {
    it(`runs ${loss} with its own numbers`, () => {
      const values = onDevice({ loss });
      expect(values).toMatchObject(expected[loss]);
      for (const [option, value] of Object.entries(policyLosses[loss].defaults)) {
        expect([option, values[`loss.${deviceNames[option]}`]]).toEqual([option, value]);
      }
    });
  }

  it("keeps a clip range that is given, each end by itself", () => {
    expect(onDevice({ loss: "gspo", clipLow: 0.1, clipHigh: 0.2 })).toMatchObject({
      ...{ "loss.clip_low": 0.1, "loss.clip_high": 0.2 },
    });
    expect(onDevice({ loss: "dppo_tv", clipLow: 0 })).toMatchObject({ "loss.clip_low": 0, "loss.clip_high": 0.2 });
    expect(() => configOf({ clipLow: -1 })).toThrow("train.clipLow");
    expect(() => configOf({ clipHigh: "wide" })).toThrow("train.clipHigh");
  });

  it("is told of where the range that is given is another loss's", () => {
    expect(runNotes(configOf({ loss: "gspo", clipLow: 0.2, clipHigh: 0.28 }))).toEqual([
      `train.clipLow is 0.2 and train.clipHigh 0.28; gspo's own are 0.0003 and 0.0004: "auto" takes these.`,
    ]);
    for (const train of [{}, { loss: "gspo" }, { clipLow: 0.2, clipHigh: 0.2 }, { loss: "gmpo", clipLow: 0.2 }]) {
      expect(runNotes(configOf(train))).toEqual([]);
    }
    expect(runNotes(configOf({ loss: "cispo", clipLow: 1, clipHigh: 2 }))).toEqual([]);
    // A start refuses this one; a run may have recorded it.
    const sapo = configOf({ loss: "sapo" });
    expect(runNotes({ ...sapo, train: { ...sapo.train, clipLow: 0.2 } })).toEqual([]);
    // A bound of 0 is a choice of its own; beside it the other is still told of.
    expect(runNotes(configOf({ clipLow: 0 }))).toEqual([]);
    expect(runNotes(configOf({ loss: "gspo", clipLow: 0, clipHigh: 0 }))).toEqual([]);
    expect(runNotes(configOf({ loss: "gspo", clipLow: 0, clipHigh: 0.28 }))).toHaveLength(1);
  });
});
