/** Settings that training on completions would ignore are refused, and say what to do. */
import { describe, expect, it } from "vitest";
import type { LeydenError } from "../../src/core/errors.ts";
import { parseConfig } from "../../src/experiment/config.ts";

type Part = Readonly<Record<"rollout" | "train" | "schedule", object>>;

function parsed(part: Partial<Part>): ReturnType<typeof parseConfig> {
  return parseConfig({
    ...{ model: { path: "m" }, task: { dataset: "d" } },
    ...part,
    rollout: { completion: "c.ts", ...part.rollout },
  });
}

function refusal(part: Partial<Part>): Pick<LeydenError, "code" | "message" | "do"> {
  try {
    parsed(part);
  } catch (thrown) {
    return thrown as LeydenError;
  }
  throw new Error("nothing was refused");
}

describe("a configuration of completions", () => {
  it.each([["collocated"], ["interleaved"]])("is refused in %s mode, which needs agents at work", (mode) => {
    expect(refusal({ schedule: { mode } })).toMatchObject({
      code: "config",
      message: `schedule.mode is ${mode}; with rollout.completion, replies are drawn and trained in turn.`,
      do: "Set schedule.mode to sync, or run an agent by rollout.command in place of rollout.completion.",
    });
  });

  it("is refused with several policies, and taken with one", () => {
    expect(refusal({ train: { policies: ["a", "b"], loraRank: 4 } })).toMatchObject({
      code: "config",
      message: "train.policies is a, b; with rollout.completion, one policy draws all replies.",
    });
    expect(parsed({ train: { policies: ["a"], loraRank: 4 } }).train.policies).toEqual(["a"]);
  });

  it.each([
    [{ reward: "exit" }, "rollout.reward is exit; with rollout.completion, the module of rollout.completion gives"],
    [{ grader: "regex" }, "rollout.grader is regex;"],
    [{ graderOptions: { field: "x" } }, "rollout.grader is exact;"],
    [{ hooks: "h.ts" }, "rollout.hooks is h.ts; with rollout.completion, no agent's rollouts call them."],
    [{ prepare: "p.ts" }, "rollout.prepare is p.ts; with rollout.completion, there is no agent to prepare."],
  ])("is refused with %o", (rollout, message) => {
    expect(refusal({ rollout }).message).toContain(message);
  });
});
