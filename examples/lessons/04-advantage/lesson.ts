/** Lesson 4: an advantage for every sample or one for the whole rollout, and the signed mass that tells them apart. */
import type { BatchOptions, ExhibitTable, Lesson, LessonGroup, LessonRollout, LessonRun, LessonRuns } from "leyden";
import { choice, number } from "../judging.ts";
import { atFirst, atLast, batchOf, mean, metricOf, rolloutsOf, shown } from "../reading.ts";
import { tiny } from "../sizes.ts";

/** Every call is a chat of its own, so a rollout of three calls is three samples. */
const notes = { "rollout.env": { CLERK_MEMORY: "notes" } };

/** The ways to choose a level and a normalisation. */
const ways: readonly { key: string; options: Partial<BatchOptions> }[] = [
  { key: "sampleTokens", options: { level: "row", normalisation: "token-mean" } },
  { key: "sampleRollouts", options: { level: "row", normalisation: "rollout" } },
  { key: "rolloutTokens", options: { level: "rollout", normalisation: "token-mean" } },
  { key: "rolloutRollouts", options: { level: "rollout", normalisation: "rollout" } },
];

function massOf(groups: readonly LessonGroup[], options: Partial<BatchOptions>): number | null {
  return batchOf(groups, options).metrics["training/signed_mass"] ?? null;
}

const firstGroups = (run: LessonRun): LessonGroup[] => run.groups.filter(({ update }) => update === 1);

/** The same rollouts of the first update, four times. */
function showWays({ perRollout }: LessonRuns): ExhibitTable | null {
  if (perRollout === undefined) return null;
  return {
    columns: ["level", "averagedOver", "mass"],
    rows: ways.map(({ options }) => [
      options.level === "row" ? "sample" : "rollout",
      options.normalisation === "rollout" ? "rollout" : "token",
      shown(massOf(firstGroups(perRollout), options), 2),
    ]),
  };
}

/** A group of the first update: if there is one, with successes and failures and unequal numbers of calls. */
function mixedGroup(run: LessonRun): LessonGroup | undefined {
  const mixed = firstGroups(run).filter(({ rollouts }) => new Set(rollouts.map(({ reward }) => reward)).size > 1);
  const differ = ({ rollouts }: LessonGroup) =>
    rollouts.some(({ calls }) => calls.length !== rollouts[0]?.calls.length);
  return mixed.find(differ) ?? mixed[0] ?? firstGroups(run)[0];
}

const rewardOf = ({ reward }: LessonRollout): number => reward ?? 0;

/** The mean reward of a group that each rollout counts in once, or once for each of its calls. */
function baseline(group: LessonGroup | undefined, per: "rollout" | "sample"): number | null {
  const rewards = (group?.rollouts ?? []).flatMap((rollout) =>
    per === "rollout" ? [rewardOf(rollout)] : rollout.calls.map(() => rewardOf(rollout)),
  );
  return mean(rewards);
}

function showGroup({ perRollout }: LessonRuns): ExhibitTable | null {
  const group = perRollout === undefined ? undefined : mixedGroup(perRollout);
  if (group === undefined) return null;
  const bySample = new Map(batchOf([group], { level: "row" }).rollouts.map(({ id, advantage }) => [id, advantage]));
  const byRollout = new Map(
    batchOf([group], { level: "rollout" }).rollouts.map(({ id, advantage }) => [id, advantage]),
  );
  return {
    studio: { run: "perRollout", route: `groups/${group.id}` },
    columns: ["rolloutName", "callsMade", "rewardGot", "advantageBySample", "advantageByRollout"],
    rows: group.rollouts.map(({ id, calls, reward }) => [
      id,
      String(calls.length),
      shown(reward, 0),
      shown(bySample.get(id), 2),
      shown(byRollout.get(id), 2),
    ]),
  };
}

const callsWith = (run: LessonRun, wanted: number): number | null =>
  mean(
    rolloutsOf(firstGroups(run))
      .filter((r) => rewardOf(r) === wanted)
      .map(({ calls }) => calls.length),
  );

/** Sample-level and rollout-level advantage, and the signed mass. */
export const lesson: Lesson = {
  id: "04-advantage",
  number: 4,
  parts: ["groups", "samples", "shifted", "signedMass"],
  experiments: [
    { key: "perRollout", overrides: { ...notes, "train.updates": 10 } },
    {
      key: "perSample",
      overrides: { ...notes, "train.updates": 10, "train.level": "row", "train.normalisation": "token-mean" },
    },
    { key: "mixed", overrides: { ...notes, "train.updates": 10, "train.normalisation": "token-mean" } },
  ],
  toy: tiny,
  observations: [
    { key: "massFirst", digits: 2, read: (run) => metricOf(run, "training/signed_mass")[0] ?? null },
    { key: "callsRight", digits: 2, read: (run) => callsWith(run, 1) },
    { key: "callsWrong", digits: 2, read: (run) => callsWith(run, 0) },
    { key: "entropyFirst", digits: 2, read: (run) => atFirst(run, "actor/entropy") },
    { key: "entropyLast", digits: 2, read: (run) => atLast(run, "actor/entropy") },
    { key: "rewardLast", digits: 2, read: (run) => atLast(run, "training/reward") },
  ],
  curves: [
    { key: "massCurve", metric: "training/signed_mass" },
    { key: "entropyCurve", metric: "actor/entropy" },
  ],
  exhibits: [
    { key: "groupTable", show: showGroup },
    { key: "wayTable", show: showWays },
  ],
  exercises: [
    number("baselineRollouts", 2, ({ perRollout: run }) =>
      run === undefined ? null : baseline(mixedGroup(run), "rollout"),
    ),
    number("baselineSamples", 2, ({ perRollout: run }) =>
      run === undefined ? null : baseline(mixedGroup(run), "sample"),
    ),
    number("massMixed", 2, ({ perRollout: run }) =>
      run === undefined ? null : massOf(firstGroups(run), { level: "rollout", normalisation: "token-mean" }),
    ),
    choice("negativeMass", ["entropyUp", "entropyDown", "nothingHappens"], "entropyUp"),
  ],
};
