/** Lesson 7: who waits for whom. Three schedules of one device, on the real clock and on a virtual one. */
import {
  type ExhibitTable,
  type Lesson,
  type LessonRun,
  type LessonRuns,
  type VirtualResult,
  VirtualRun,
  type VirtualWorkload,
} from "leyden";
import { choice, edit, number } from "../judging.ts";
import { mean, metricOf, rolloutsOf, shown } from "../reading.ts";
import { machineSeconds, tiny } from "../sizes.ts";

/** Milliseconds that the adding machine takes, so that there is something to wait for. */
const toolMs = 400;
const tasksPerUpdate = 4;
const activeGroups = 8;
const maxAge = 4;

const modes = ["sync", "collocated", "interleaved"] as const;

/** A mode of the schedule. */
type Mode = (typeof modes)[number];

const slowTool = {
  "train.updates": 5,
  "schedule.activeGroups": activeGroups,
  "schedule.maxAge": maxAge,
  "rollout.env": { CLERK_TOOL_MS: String(toolMs) },
};

const sum = (run: LessonRun, name: string): number => metricOf(run, name).reduce((a, b) => a + b, 0);

/** Share of the device's time in which it had nothing to do, the first update and its compiling left out. */
function idleShare(run: LessonRun): number | null {
  const later = { ...run, metrics: run.metrics.slice(1) };
  const seconds = sum(later, "timing_s/step");
  return seconds === 0 ? null : sum(later, "device/idle_s") / seconds;
}

/** Seconds of an update, the first left out. */
function secondsPerUpdate(run: LessonRun): number | null {
  return mean(metricOf(run, "timing_s/step").slice(1));
}

/** What was recorded of a run as work for a virtual device. */
function workload(run: LessonRun, waitMs: number): VirtualWorkload {
  return {
    groups: run.groups.map(({ rollouts }) =>
      rollouts.map(({ calls }) =>
        calls.map(({ promptIds, prefixLength, replyIds }, i) => ({
          toolMs: i === 0 ? 0 : waitMs,
          promptTokens: promptIds.length - prefixLength,
          replyTokens: Math.max(1, replyIds.length),
        })),
      ),
    ),
  };
}

/** Milliseconds per token of prefill, decoding and training, and per optimizer step, as the run's own device took them. */
function costsOf(run: LessonRun) {
  const calls = rolloutsOf(run.groups).flatMap((rollout) => rollout.calls);
  const replied = calls.reduce((n, { replyIds }) => n + replyIds.length, 0);
  const read = calls.reduce((n, { promptIds, prefixLength }) => n + promptIds.length - prefixLength, 0);
  const per = (seconds: number, n: number): number => (n === 0 ? 0 : (1000 * seconds) / n);
  return {
    prefillStep: 0,
    prefillToken: per(sum(run, "device/prefill_s"), read),
    prefillPairs: 0,
    decodeStep: 0,
    decodeSequence: per(sum(run, "device/decode_s"), replied),
    decodeContext: 0,
    action: 0,
    trainPass: 0,
    trainToken: per(sum(run, "device/train_s"), read + replied),
    trainPairs: 0,
    optimizer: per(sum(run, "device/optimizer_s"), run.metrics.length),
  };
}

/** The run's work under another mode, on a virtual clock. */
function predict(run: LessonRun, mode: Mode, waitMs: number): VirtualResult {
  const interleaved = mode === "interleaved";
  return new VirtualRun(workload(run, waitMs), {
    costs: costsOf(run),
    limits: { maxSequences: 32, prefillTokens: 512, burst: 4, pageTokens: 16, microBatchTokens: 2048, passQuanta: 1 },
    device: { inFlight: interleaved ? "keep" : "drain", stepsPerQuantum: 8 },
    groups: { mode, tasksPerUpdate, activeGroups, maxAge: mode === "sync" ? 0 : maxAge },
    collects: interleaved,
  }).run();
}

function showPredictions({ sync }: LessonRuns): ExhibitTable | null {
  if (sync === undefined) return null;
  const rows = [0, toolMs, 10 * toolMs].flatMap((waitMs) =>
    modes.map((mode) => {
      const { seconds, deviceSeconds, maxAge: age } = predict(sync, mode, waitMs);
      return [String(waitMs), mode, shown(seconds, 1), shown(deviceSeconds.idle / seconds, 2), String(age)];
    }),
  );
  return { columns: ["waitMs", "modeName", "seconds", "idle", "oldest"], rows };
}

/** Sync, collocated, interleaved. */
export const lesson: Lesson = {
  id: "07-schedule",
  number: 7,
  parts: ["oneDevice", "threeModes", "price", "virtualClock"],
  experiments: modes.map((mode) => ({ key: mode, overrides: { ...slowTool, "schedule.mode": mode } })),
  toy: { ...tiny, "train.updates": 3, "schedule.activeGroups": 4 },
  places: [{ key: "seconds", experiment: "sync", read: machineSeconds }],
  observations: [
    { key: "secondsEach", digits: 1, read: secondsPerUpdate },
    { key: "idleShare", digits: 2, read: idleShare },
    {
      key: "oldestGroup",
      digits: 0,
      read: (run) => Math.max(0, ...metricOf(run, "training/async/group_age_max_steps")),
    },
    { key: "tokensEach", digits: 0, read: (run) => mean(metricOf(run, "training/n_tokens")) },
  ],
  curves: [],
  exhibits: [{ key: "predictions", show: showPredictions }],
  exercises: [
    number("idleSync", 2, ({ sync }) => (sync === undefined ? null : idleShare(sync))),
    choice("whyIdle", ["agentsWork", "modelLarge", "rewardLow"], "agentsWork"),
    choice("whatPrice", ["olderTokens", "fewerTokens", "wrongGradients"], "olderTokens"),
    edit(
      "noAge",
      {
        kind: "edit-config",
        from: "collocated",
        path: "schedule.mode",
        initial: '"collocated"',
        solution: '"sync"',
      },
      (run) => run.metrics.length > 0 && metricOf(run, "training/async/group_age_max_steps").every((age) => age === 0),
    ),
  ],
};
