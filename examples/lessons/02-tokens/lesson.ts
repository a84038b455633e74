/** Lesson 2: text is a view of tokens, and a harness that changes the text leaves tokens behind that nobody drew. */
import type { Lesson, LessonCall, LessonRun, LessonRuns } from "leyden";
import { choice, edit, number } from "../judging.ts";
import { callsOf, mean } from "../reading.ts";
import { brief, tiny } from "../sizes.ts";

/** Sampled ids without the token that ended the reply: what a text can say. */
function spokenIds({ replyIds, stopped }: LessonCall): readonly number[] {
  return stopped ? replyIds.slice(0, -1) : replyIds;
}

/** True when the reply's text, encoded again, is other tokens than those that were sampled. */
function drifts(call: LessonCall): boolean {
  const ids = spokenIds(call);
  return ids.length !== call.encodedIds.length || ids.some((id, t) => id !== call.encodedIds[t]);
}

/** Sampled tokens that stand at the same place, from the left, when the text is encoded again. */
function keptTokens(call: LessonCall): number {
  const ids = spokenIds(call);
  const firstOther = ids.findIndex((id, t) => id !== call.encodedIds[t]);
  return firstOther < 0 ? ids.length : firstOther;
}

function lostShare(run: LessonRun): number | null {
  const calls = callsOf(run);
  const sampled = calls.reduce((n, call) => n + spokenIds(call).length, 0);
  return sampled === 0 ? null : 1 - calls.reduce((n, call) => n + keptTokens(call), 0) / sampled;
}

const breaks = (run: LessonRun): number => callsOf(run).filter(({ breakReason }) => breakReason !== null).length;
const drifted = (run: LessonRun | undefined): LessonCall[] => (run === undefined ? [] : callsOf(run).filter(drifts));

function keptPrefix(run: LessonRun): number | null {
  return mean(callsOf(run).map(({ prefixLength, promptIds }) => prefixLength / promptIds.length));
}

/** The pieces of a reply as they were sampled, and how many ids its text has when it is encoded again. */
function showDrift({ faithful }: LessonRuns) {
  const found = drifted(faithful).slice(0, 6);
  if (found.length === 0) return null;
  return {
    columns: ["replyText", "sampledPieces", "sampledCount", "encodedCount"],
    rows: found.map((call) => [
      call.text,
      call.tokens
        .slice(0, spokenIds(call).length)
        .map((token) => `[${token}]`)
        .join(""),
      String(spokenIds(call).length),
      String(call.encodedIds.length),
    ]),
  };
}

/** Tokens are the truth. */
export const lesson: Lesson = {
  id: "02-tokens",
  number: 2,
  parts: ["tokens", "twoSpellings", "history", "gateway"],
  experiments: [
    { key: "faithful", overrides: brief },
    { key: "ownWords", overrides: { ...brief, "rollout.env": { CLERK_MEMORY: "log" } } },
  ],
  toy: tiny,
  observations: [
    { key: "callCount", digits: 0, read: (run) => callsOf(run).length },
    { key: "breakCount", digits: 0, read: breaks },
    { key: "keptShare", digits: 2, read: keptPrefix },
    { key: "driftCount", digits: 0, read: (run) => drifted(run).length },
    { key: "lostTokens", digits: 2, read: lostShare },
  ],
  curves: [],
  exhibits: [{ key: "driftTable", show: showDrift }],
  exercises: [
    number("countDrift", 0, ({ faithful }) => (faithful === undefined ? null : drifted(faithful).length)),
    choice("whyBreak", ["reasonTemplate", "reasonEdited", "reasonSide"], "reasonEdited"),
    choice("whatTrains", ["sampledOnes", "encodedOnes", "bothOnes"], "sampledOnes"),
    edit(
      "repair",
      {
        kind: "edit-config",
        from: "ownWords",
        path: "rollout.env",
        initial: '{ "CLERK_MEMORY": "log" }',
        solution: '{ "CLERK_MEMORY": "chat" }',
      },
      (run) => breaks(run) === 0 && callsOf(run).some(({ parent }) => parent !== null),
    ),
  ],
};
