/** Lesson 1: what a policy, a harness and a reward are, and which of them learns. */
import type { Exhibit, Lesson, LessonRollout } from "leyden";
import { compute, readUse, resultText } from "../clerk/desk.ts";
import { choice, number } from "../judging.ts";
import { atFirst, atLast, groupsAt, mean, metricOf, rolloutsOf, shown } from "../reading.ts";
import { tiny } from "../sizes.ts";

/** Who says what in a rollout, line by line, and what it earned. */
function conversation({ input, calls, reward }: LessonRollout): string[][] {
  const turns = calls.flatMap(({ text }) => {
    const use = readUse(text);
    return [["⟵", text], ...(use === null ? [] : [["⟶", resultText(compute(use))]])];
  });
  return [["⟶", String(input.question)], ...turns, ["=", shown(reward, 0)]];
}

/** The first rollout with a reward. */
function conversationWith(key: string, wanted: number): Exhibit {
  return {
    key,
    show: ({ run }) => {
      const found = rolloutsOf(run?.groups ?? []).find(({ reward }) => reward === wanted);
      if (found === undefined) return null;
      const studio = { run: "run", route: `rollouts/${found.id}` };
      return { columns: ["who", "line"], rows: conversation(found), studio };
    },
  };
}

const callsPerRollout = (rollouts: readonly LessonRollout[]) => mean(rollouts.map(({ calls }) => calls.length));

/** A policy, a harness, a reward. */
export const lesson: Lesson = {
  id: "01-policy",
  number: 1,
  parts: ["policy", "harness", "reward", "loop"],
  experiments: [{ key: "run", overrides: {} }],
  toy: tiny,
  places: [
    { key: "updates", experiment: "run", read: (valueAt) => Number(valueAt("train.updates")) },
    { key: "group", experiment: "run", read: (valueAt) => Number(valueAt("train.groupSize")) },
  ],
  observations: [
    { key: "rewardFirst", digits: 2, read: (run) => atFirst(run, "training/reward") },
    { key: "rewardLast", digits: 2, read: (run) => atLast(run, "training/reward") },
    { key: "callsFirst", digits: 2, read: (run) => callsPerRollout(rolloutsOf(groupsAt(run, "first"))) },
    { key: "callsLast", digits: 2, read: (run) => callsPerRollout(rolloutsOf(groupsAt(run, "last"))) },
  ],
  curves: [{ key: "rewardCurve", metric: "training/reward" }],
  exhibits: [conversationWith("failure", 0), conversationWith("success", 1)],
  exercises: [
    choice("wroteResult", ["thePolicy", "theHarness", "theReward"], "theHarness"),
    number("paidFirst", 0, ({ run }) =>
      run === undefined
        ? null
        : rolloutsOf(run.groups.filter(({ update }) => update === 1)).filter((r) => r.reward === 1).length,
    ),
    number("lastReward", 2, ({ run }) => (run === undefined ? null : metricOf(run, "training/reward").at(-1))),
    choice("whatLearns", ["itsWeights", "itsPrompt", "itsProgram"], "itsWeights"),
  ],
};
