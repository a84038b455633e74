/** Lesson 6: tokens drawn under old weights, how old they are, and what corrects for it. */
import type { ExhibitTable, Lesson, LessonRun, LessonRuns } from "leyden";
import { choice, edit, number } from "../judging.ts";
import { atLast, callsOf, mean, metricOf, rolloutsOf, shown } from "../reading.ts";
import { machineSeconds, tiny } from "../sizes.ts";

const few = { "train.updates": 8, "train.learningRate": 0.002 };
/** A slow machine and more groups than an update takes: agents are still at work when the weights change. */
const stale = {
  ...few,
  "schedule.mode": "collocated",
  "schedule.activeGroups": 8,
  "schedule.maxAge": 4,
  "rollout.concurrency": 32,
  "rollout.env": { CLERK_TOOL_MS: "3000" },
};

/** The policy's version when an update began: that of the update before. */
function versionBefore({ metrics }: LessonRun, update: number): number {
  return Number(metrics[update - 2]?.version ?? 0);
}

/** Versions between the weights that drew a token and those that were trained on it, of all tokens. */
function ages(run: LessonRun): number[] {
  return run.groups.flatMap(({ update, rollouts }) => {
    const calls = rollouts.flatMap((rollout) => rollout.calls);
    return calls.flatMap(({ versions }) => versions.map((version) => versionBefore(run, update) - version));
  });
}

function oldest(run: LessonRun): number | null {
  const found = ages(run);
  return found.length === 0 ? null : Math.max(...found);
}

function showAges(runs: LessonRuns): ExhibitTable | null {
  const run = runs.old;
  if (run === undefined) return null;
  const counts = new Map<number, number>();
  const found = ages(run);
  for (const age of found) counts.set(age, (counts.get(age) ?? 0) + 1);
  const rows = [...counts].sort(([a], [b]) => a - b);
  return {
    columns: ["age", "tokens", "share"],
    rows: rows.map(([age, n]) => [String(age), String(n), shown(n / found.length, 2)]),
  };
}

/** On-policy, stale, corrected. */
export const lesson: Lesson = {
  id: "06-staleness",
  number: 6,
  parts: ["onPolicy", "waiting", "ratio", "bound"],
  experiments: [
    { key: "fresh", overrides: few },
    { key: "old", overrides: stale },
    { key: "corrected", overrides: { ...stale, "train.correction": "token", "train.oldLogprobs": "recomputed" } },
  ],
  toy: { ...tiny, "schedule.activeGroups": 6, "rollout.env": { CLERK_TOOL_MS: "500" } },
  places: [{ key: "seconds", experiment: "old", read: machineSeconds }],
  observations: [
    { key: "meanAge", digits: 2, read: (run) => mean(ages(run)) },
    { key: "oldestAge", digits: 0, read: oldest },
    { key: "drift", digits: 4, read: (run) => mean(metricOf(run, "actor/ppo_kl")) },
    { key: "clipped", digits: 4, read: (run) => mean(metricOf(run, "actor/pg_clipfrac")) },
    { key: "rewardLast", digits: 2, read: (run) => atLast(run, "training/reward") },
  ],
  curves: [
    { key: "rewardCurve", metric: "training/reward" },
    { key: "driftCurve", metric: "actor/ppo_kl" },
  ],
  exhibits: [{ key: "ageTable", show: showAges }],
  exercises: [
    number("oldestNumber", 0, ({ old }) => (old === undefined ? null : oldest(old))),
    choice("whyOld", ["startedBefore", "longAnswers", "lowReward"], "startedBefore"),
    choice("whatRatio", ["newOverOld", "rewardOverMean", "tokensOverTime"], "newOverOld"),
    edit(
      "boundAge",
      { kind: "edit-config", from: "old", path: "schedule.maxAge", initial: "4", solution: "1" },
      (run) => callsOf(run).length > 0 && rolloutsOf(run.groups).length > 0 && (oldest(run) ?? 9) <= 1,
    ),
  ],
};
