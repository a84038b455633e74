/** Lesson 3: two sub-agents talk at the same time; their calls are rows that break, or branches of a tree. */
import type { BatchOptions, ExhibitTable, Lesson, LessonRollout, LessonRun, LessonRuns } from "leyden";
import { choice, number } from "../judging.ts";
import { batchOf, mean, rolloutsOf } from "../reading.ts";
import { tiny } from "../sizes.ts";

/** Paid when both clerks' answers are among the replies. */
const bothRight =
  'replies.exists(r, r == "answer " + string(hidden.answer)) && replies.exists(r, r == "answer " + string(hidden.secondAnswer))';

const twoClerks = {
  "train.updates": 2,
  "rollout.env": { CLERK_COUNT: "2" },
  "rollout.grader": "expression",
  "rollout.graderOptions": { reward: bothRight },
};

/** Rows of every rollout under a view, in the order of their ids. */
function rowsUnder(run: LessonRun, view: BatchOptions["view"]): Map<string, number> {
  const { rollouts } = batchOf(run.groups, { view, skipZeroAdvantage: false });
  return new Map(rollouts.map(({ id, rows }) => [id, rows]));
}

function meanRows(run: LessonRun, view: BatchOptions["view"]): number | null {
  return mean([...rowsUnder(run, view).values()]);
}

/** Tokens that go through the model in training. */
function computed(run: LessonRun, view: BatchOptions["view"]): number {
  const { rows } = batchOf(run.groups, { view, skipZeroAdvantage: false });
  return rows.reduce((n, { ids }) => n + ids.length, 0);
}

/** The rollout to look at: the first with four calls or more. */
function example(run: LessonRun | undefined): LessonRollout | undefined {
  const rollouts = rolloutsOf(run?.groups ?? []);
  return rollouts.find(({ calls }) => calls.length >= 4) ?? rollouts[0];
}

function showCalls({ two }: LessonRuns): ExhibitTable | null {
  const found = example(two);
  if (found === undefined) return null;
  const place = new Map(found.calls.map(({ id }, i) => [id, i + 1]));
  return {
    studio: { run: "two", route: `rollouts/${found.id}` },
    columns: ["callNumber", "continues", "promptTokens", "keptTokens", "said"],
    rows: found.calls.map(({ parent, promptIds, prefixLength, text }, i) => [
      String(i + 1),
      parent === null ? "–" : String(place.get(parent) ?? "–"),
      String(promptIds.length),
      String(prefixLength),
      text,
    ]),
  };
}

const exampleRows = ({ two }: LessonRuns, view: BatchOptions["view"]): number | null | undefined => {
  const found = example(two);
  return two === undefined || found === undefined ? null : rowsUnder(two, view).get(found.id);
};

/** From calls to samples. */
export const lesson: Lesson = {
  id: "03-samples",
  number: 3,
  parts: ["calls", "rows", "tree", "same"],
  experiments: [{ key: "two", overrides: twoClerks }],
  toy: tiny,
  observations: [
    { key: "callsEach", digits: 2, read: (run) => mean(rolloutsOf(run.groups).map(({ calls }) => calls.length)) },
    { key: "rowsEach", digits: 2, read: (run) => meanRows(run, "trajectory") },
    { key: "branchesEach", digits: 2, read: (run) => meanRows(run, "trie") },
    { key: "rowTokens", digits: 0, read: (run) => computed(run, "trajectory") },
    { key: "treeTokens", digits: 0, read: (run) => computed(run, "trie") },
  ],
  curves: [],
  exhibits: [{ key: "callTable", show: showCalls }],
  exercises: [
    number("countBranches", 0, (runs) => exampleRows(runs, "trie")),
    number("countRows", 0, (runs) => exampleRows(runs, "trajectory")),
    choice("whyRowsBreak", ["otherSpoke", "tooLong", "wrongAnswer"], "otherSpoke"),
    choice("whatTreeSaves", ["savesCompute", "savesGradient", "savesReward"], "savesCompute"),
  ],
};
