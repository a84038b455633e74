/** Settings that a run would ignore are refused, and say what to do; whatever has some effect is taken. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { LeydenError } from "../../src/core/errors.ts";
import { parseConfig, parseShape, withOverrides } from "../../src/experiment/config.ts";

type Part = Readonly<Record<"rollout" | "train" | "schedule", object>>;

const base = { model: { path: "m" }, task: { dataset: "d" } };

/** A configuration of an agent, or with a `rollout.completion` of completions. */
function written(part: Partial<Part>): object {
  const { rollout = {} } = part;
  return { ...base, ...part, rollout: "completion" in rollout ? rollout : { command: ["c"], ...rollout } };
}

function parsed(part: Partial<Part>): ReturnType<typeof parseConfig> {
  return parseConfig(written(part));
}

function refusal(part: Partial<Part>): Pick<LeydenError, "code" | "message" | "do"> {
  try {
    parsed(part);
  } catch (thrown) {
    return thrown as LeydenError;
  }
  throw new Error("nothing was refused");
}

/** Settings nothing reads, what is said, and how to have them read. */
const inVain: [train: object, message: string, read: object][] = [
  [{ loss: "gspo", dualClip: 5 }, "train.dualClip is 5; gspo has no dual clip.", { loss: "ppo" }],
  [{ loss: "sapo", clipLow: 0.1 }, "train.clipLow is 0.1; sapo has no clip range.", { loss: "dppo_tv" }],
  [{ loss: "reinforce", clipHigh: 9 }, "train.clipHigh is 9; reinforce has no clip range.", { loss: "cispo" }],
  [{ loss: "dro", clipHigh: 9 }, "train.clipHigh is 9; dro has no clip range.", { loss: "gmpo" }],
  [{ lossOptions: { beta: 3 } }, "train.lossOptions.beta is 3; ppo has no beta.", { loss: "dro" }],
  [{ lossOptions: { cap: 2 } }, "train.lossOptions.cap is 2; ppo has no cap.", { loss: "dppo_tv" }],
  [{ lossOptions: { tauPositive: 2 } }, "train.lossOptions.tauPositive is 2;", { loss: "sapo" }],
  [{ lossOptions: { tauNegative: 2 } }, "train.lossOptions.tauNegative is 2;", { loss: "sapo" }],
  [{ ratioOf: "rollout" }, "train.ratioOf is rollout; ppo takes a ratio of every token.", { loss: "gmpo" }],
  [{ callDiscount: 0.5 }, "train.callDiscount is 0.5; only train.level call discounts.", { level: "call" }],
  [
    { normalisationLength: 9 },
    "train.normalisationLength is 9; train.normalisation divides by no length.",
    { normalisation: "seq-mean-token-sum-norm" },
  ],
  [{ correctionHigh: 9 }, "train.correctionHigh is 9; train.correction is none.", { correction: "token" }],
  [{ correctionBound: "mask" }, "train.correctionBound is mask; train.correction is none.", { correction: "token" }],
  [{ correctionNormalise: true }, "train.correctionNormalise is true;", { correction: "sequence" }],
  [
    { correction: "token", correctionLow: 0.9 },
    "train.correctionLow is 0.9; train.correctionBound truncate has only an upper bound.",
    { correctionBound: "mask" },
  ],
  [{ klTarget: 0.1 }, "train.klTarget is 0.1; a train.klCoef of 0 stays 0.", { klCoef: 0.1 }],
  [
    { klIn: "reward", klCoef: 0.1, klKind: "k2" },
    "train.klKind is k2; a KL in the reward is always k1.",
    { klIn: "loss" },
  ],
  [{ loraAlpha: 5 }, "train.loraAlpha is 5; all weights are trained, without an adapter", { loraRank: 4 }],
  [{ loraTargets: ["q_proj"] }, "train.loraTargets is q_proj; all weights are trained", { loraRank: 4 }],
  [{ rslora: true }, "train.rslora is true; all weights are trained", { loraRank: 4 }],
];

describe("a setting that nothing reads", () => {
  it.each(inVain)("%o is refused, and taken where it is read", (train, message, read) => {
    const refused = refusal({ train });
    expect(refused.code).toBe("config");
    expect(refused.message).toContain(message);
    expect(parsed({ train: { ...train, ...read } }).train).toMatchObject(read);
  });

  it("says how to take it back, and how to have it read", () => {
    expect(refusal({ train: { ratioOf: "rollout" } }).do).toBe(
      "Set train.ratioOf to row, or use train.loss gspo or gmpo.",
    );
    expect(refusal({ train: { lossOptions: { beta: 3 } } }).do).toBe(
      "Leave train.lossOptions.beta out, or use a loss that has it.",
    );
  });

  it("is not one at its default, nor where it is switched off: written out, a configuration is the same", () => {
    const { correction, lossOptions, ...rest } = parsed({ train: { loss: "reinforce" } }).train;
    expect(parsed({ train: { correction, lossOptions, ...rest } }).train).toEqual({ correction, lossOptions, ...rest });
    expect(parsed({ train: { loss: "cispo", dualClip: 0 } }).train.dualClip).toBe(0);
  });

  it("is none where a flag of the command line changes the mode: those of a schedule wait for it", () => {
    const schedule = { mode: "interleaved", maxAge: 1, inFlight: "recompute", activeGroups: 20 };
    const { mode, maxAge } = parseConfig(withOverrides(written({ schedule }), ["schedule.mode=sync"])).schedule;
    expect([mode, maxAge]).toEqual(["sync", 1]);
  });

  it("is taken from a run that was begun with it, as long as it stays what it was", () => {
    const train = { loss: "sapo", clipLow: 0.2, clipHigh: 0.28 };
    const recorded = parseShape(written({ train }));
    expect(parseConfig(recorded, recorded)).toEqual(recorded);
    const changed = { ...recorded, train: { ...recorded.train, clipHigh: 0.3 } };
    expect(() => parseConfig(changed, recorded)).toThrow("train.clipHigh is 0.3; sapo has no clip range.");
  });

  it.each(["calc", "digits", "vault", "team", "lessons/clerk"])("stands in no example: %s", (name) => {
    const config = JSON.parse(readFileSync(new URL(`../../examples/${name}/config.json`, import.meta.url), "utf8"));
    expect(parseConfig(config).model.path).toBe("./model");
  });
});

describe("a configuration of completions", () => {
  const refused = (part: Partial<Part>) => refusal({ ...part, rollout: { completion: "c.ts", ...part.rollout } });

  it.each([["collocated"], ["interleaved"]])("is refused in %s mode, which needs agents at work", (mode) => {
    expect(refused({ schedule: { mode } })).toMatchObject({
      code: "config",
      message: `schedule.mode is ${mode}; with rollout.completion, replies are drawn and trained in turn.`,
      do: "Set schedule.mode to sync, or run an agent by rollout.command in place of rollout.completion.",
    });
  });

  it("is refused with several policies, and taken with one", () => {
    expect(refused({ train: { policies: ["a", "b"], loraRank: 4 } })).toMatchObject({
      code: "config",
      message: "train.policies is a, b; with rollout.completion, one policy draws all replies.",
    });
    const one = parsed({ rollout: { completion: "c.ts" }, train: { policies: ["a"], loraRank: 4 } });
    expect(one.train.policies).toEqual(["a"]);
  });

  it.each([
    [{ reward: "exit" }, "rollout.reward is exit; with rollout.completion, the module of rollout.completion gives"],
    [{ grader: "regex" }, "rollout.grader is regex;"],
    [{ graderOptions: { field: "x" } }, 'rollout.graderOptions is {"field":"x"};'],
    [{ hooks: "h.ts" }, "rollout.hooks is h.ts; with rollout.completion, no agent's rollouts call them."],
    [{ prepare: "p.ts" }, "rollout.prepare is p.ts; with rollout.completion, there is no agent to prepare."],
    [{ timeoutSeconds: 1 }, "rollout.timeoutSeconds is 1; with rollout.completion, there is no agent's process."],
    [{ cwd: "x" }, "rollout.cwd is x; with rollout.completion, there is no agent's process."],
    [{ workspace: "w" }, "rollout.workspace is w; with rollout.completion, there is no agent's process."],
    [{ env: { A: "b" } }, 'rollout.env is {"A":"b"};'],
  ])("is refused with %o", (rollout, message) => {
    expect(refused({ rollout }).message).toContain(message);
  });
});

describe("settings that would stop learning", () => {
  it("a dual clip of at most 1 is refused", () => {
    for (const dualClip of [0.5, 1]) {
      expect(refusal({ train: { dualClip } })).toMatchObject({
        code: "config",
        message: `train.dualClip is ${dualClip}; a bound of at most 1 times the advantage stops the gradient of ratios near 1.`,
        do: "Give a bound above 1, such as 3, or 0 for none.",
      });
    }
    for (const dualClip of [0, 1.1]) expect(parsed({ train: { dualClip } }).train.dualClip).toBe(dualClip);
  });

  it("bounds of a rejection that nothing lies between are refused, as is a bound it does not have", () => {
    const reject = (rejection: object) => ({ train: { rejections: [rejection] } });
    expect(refusal(reject({ kind: "token_k1", upper: 0.5 })).message).toBe(
      "train.rejections bounds token_k1 below by 2 (1 / upper, by default), above its upper bound 0.5: nothing would be kept.",
    );
    expect(refusal(reject({ kind: "seq_mean_k1", upper: 2, lower: 3 })).message).toBe(
      "train.rejections bounds seq_mean_k1 below by 3, above its upper bound 2: nothing would be kept.",
    );
    expect(refusal(reject({ kind: "token_k3", upper: 2, lower: 1.9 })).message).toBe(
      "train.rejections gives token_k3 the lower bound 1.9; only k1 has one.",
    );
    for (const fine of [
      { kind: "token_k1", upper: 2 },
      { kind: "token_k1", upper: 0.5, lower: 0.1 },
      { kind: "seq_max_k2", upper: 0.5 },
    ]) {
      expect(parsed(reject(fine)).train.rejections).toEqual([fine]);
    }
  });
});
