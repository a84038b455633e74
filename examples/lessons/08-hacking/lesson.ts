/** Lesson 8: the reward has a hole, the agent finds it, the learner closes it. */
import type { Lesson, LessonRollout, LessonRun } from "leyden";
import { choice, edit, number } from "../judging.ts";
import { atFirst, atLast, finalReply, groupsAt, isRight, rolloutsOf, shareOf, shown } from "../reading.ts";
import { tiny } from "../sizes.ts";

/** Pays for a reply in the form of an answer, a fifth less for every call; whether it is right, nobody looks. */
const withHole = 'message.matches("answer [0-9]+") ? 1.0 - 0.2 * double(calls) : 0.0';
/** The same for the right number alone. */
const closed = "numbers(message) == [answer] ? 1.0 - 0.2 * double(calls) : 0.0";

const graded = (reward: string) => ({
  "train.updates": 8,
  "rollout.grader": "expression",
  "rollout.graderOptions": { reward },
});

/** Answered without a use of the machine. */
const guesses = ({ calls }: LessonRollout): boolean => calls.length === 1;

const shareAt = (run: LessonRun, where: "first" | "last", holds: (rollout: LessonRollout) => boolean) =>
  shareOf(rolloutsOf(groupsAt(run, where)), holds);

/** The grader paid every right answer something, and others nothing. */
function paysOnlyRight(run: LessonRun): boolean {
  const rollouts = rolloutsOf(run.groups);
  return rollouts.length > 0 && rollouts.every((rollout) => (rollout.reward ?? 0) > 0 === isRight(rollout));
}

/** Reward hacking. */
export const lesson: Lesson = {
  id: "08-hacking",
  number: 8,
  parts: ["proxy", "hurry", "pressure"],
  experiments: [{ key: "hole", overrides: graded(withHole) }],
  toy: tiny,
  observations: [
    { key: "paidFirst", digits: 2, read: (run) => atFirst(run, "training/reward") },
    { key: "paidLast", digits: 2, read: (run) => atLast(run, "training/reward") },
    { key: "rightFirst", digits: 2, read: (run) => shareAt(run, "first", isRight) },
    { key: "rightLast", digits: 2, read: (run) => shareAt(run, "last", isRight) },
    { key: "guessFirst", digits: 2, read: (run) => shareAt(run, "first", guesses) },
    { key: "guessLast", digits: 2, read: (run) => shareAt(run, "last", guesses) },
  ],
  curves: [{ key: "paidCurve", metric: "training/reward" }],
  exhibits: [
    {
      key: "paidReplies",
      show: ({ hole }) => {
        const paid = rolloutsOf(hole === undefined ? [] : groupsAt(hole, "last"))
          .filter((rollout) => (rollout.reward ?? 0) > 0 && !isRight(rollout))
          .slice(0, 6);
        if (paid.length === 0) return null;
        const columns = ["asked", "truth", "replied", "paid"];
        return {
          columns,
          rows: paid.map((r) => [String(r.input.question), String(r.hidden.answer), finalReply(r), shown(r.reward, 2)]),
        };
      },
    },
  ],
  exercises: [
    choice("whatHack", ["guesses", "copiesQuestion", "saysNothing"], "guesses"),
    number("gap", 2, ({ hole }) => {
      if (hole === undefined) return null;
      // As people do it: the difference of the two numbers in the table.
      const [paid, right] = [atLast(hole, "training/reward"), shareAt(hole, "last", isRight)];
      return paid === null || right === null ? null : Number(shown(paid, 2)) - Number(shown(right, 2));
    }),
    edit(
      "closeHole",
      { kind: "edit-reward", from: "hole", path: "rollout.graderOptions", initial: withHole, solution: closed },
      paysOnlyRight,
    ),
    choice("notice", ["rewardRises", "measureApart", "moreTraining"], "measureApart"),
  ],
};
