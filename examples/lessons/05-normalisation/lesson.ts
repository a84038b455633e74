/** Lesson 5: how token losses become one loss decides which tokens are loud, and with it what entropy and length do. */
import type { ExhibitTable, Lesson, LessonGroup, LessonRun, LessonRuns, Normalisation } from "leyden";
import { choice, edit, number } from "../judging.ts";
import { atFirst, atLast, batchOf, mean, metricOf, rolloutsOf, shown } from "../reading.ts";
import { tiny } from "../sizes.ts";

/** Ways to make one loss of the token losses, to be compared on the same rollouts. */
const modes: readonly Normalisation[] = ["rollout", "token-mean", "seq-mean-token-sum"];
const short = { "train.updates": 8 };

const firstGroups = (run: LessonRun): LessonGroup[] => run.groups.filter(({ update }) => update === 1);

/** Sampled tokens per rollout of an update, of those with a reward or without. */
function lengthOf(groups: readonly LessonGroup[], paid: boolean): number | null {
  const rollouts = rolloutsOf(groups).filter(({ reward }) => (reward ?? 0) > 0 === paid);
  return mean(rollouts.map(({ calls }) => calls.reduce((n, { replyIds }) => n + replyIds.length, 0)));
}

/** Weight of a token of the longest and of the shortest rollout of the first update, under each mode. */
function showWeights({ perRollout }: LessonRuns): ExhibitTable | null {
  if (perRollout === undefined) return null;
  const groups = firstGroups(perRollout);
  const rows = modes.map((mode) => {
    const { rows: trained, metrics } = batchOf(groups, { normalisation: mode });
    const weights = trained.flatMap(({ weight }) => [...weight]);
    const ratio = weights.length === 0 ? null : Math.max(...weights) / Math.min(...weights);
    return [mode, shown(ratio, 2), shown(metrics["training/signed_mass"], 2)];
  });
  return { columns: ["modeName", "weightRatio", "mass"], rows };
}

/** Normalisation and entropy. */
export const lesson: Lesson = {
  id: "05-normalisation",
  number: 5,
  parts: ["sums", "longFailures", "entropy"],
  experiments: [
    { key: "perRollout", overrides: short },
    { key: "perToken", overrides: { ...short, "train.normalisation": "token-mean" } },
    { key: "bonus", overrides: { ...short, "train.entropyCoef": 0.4 } },
  ],
  toy: tiny,
  observations: [
    { key: "lengthRight", digits: 1, read: (run) => lengthOf(firstGroups(run), true) },
    { key: "lengthWrong", digits: 1, read: (run) => lengthOf(firstGroups(run), false) },
    { key: "massMean", digits: 2, read: (run) => mean(metricOf(run, "training/signed_mass")) },
    { key: "entropyFirst", digits: 2, read: (run) => atFirst(run, "actor/entropy") },
    { key: "entropyLast", digits: 2, read: (run) => atLast(run, "actor/entropy") },
    { key: "rewardLast", digits: 2, read: (run) => atLast(run, "training/reward") },
  ],
  curves: [
    { key: "entropyCurve", metric: "actor/entropy" },
    { key: "massCurve", metric: "training/signed_mass" },
  ],
  exhibits: [{ key: "weightTable", show: showWeights }],
  exercises: [
    number("massPerToken", 2, ({ perRollout: run }) =>
      run === undefined
        ? null
        : batchOf(firstGroups(run), { normalisation: "token-mean" }).metrics["training/signed_mass"],
    ),
    choice("whoIsLoud", ["longOnes", "shortOnes", "allAlike"], "longOnes"),
    choice("whichZero", ["zeroRollout", "zeroToken", "zeroSum"], "zeroRollout"),
    edit(
      "balance",
      {
        kind: "edit-config",
        from: "perToken",
        path: "train.normalisation",
        initial: '"token-mean"',
        solution: '"rollout"',
      },
      (run) => {
        const masses = metricOf(run, "training/signed_mass");
        return masses.length > 0 && masses.every((mass) => Math.abs(mass) < 0.01);
      },
    ),
  ],
};
