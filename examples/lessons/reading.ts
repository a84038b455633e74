/** What the lessons' observations and checks read off a run. */
import {
  type Batch,
  type BatchOptions,
  buildBatch,
  type GroupRecord,
  type LessonCall,
  type LessonGroup,
  type LessonRollout,
  type LessonRun,
} from "leyden";

/** A metric of every update that has it. */
export function metricOf(run: LessonRun, name: string): number[] {
  return run.metrics.flatMap((line) => {
    const value = line[name];
    return typeof value === "number" ? [value] : [];
  });
}

/** Mean; null of nothing. */
export function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((a, b) => a + b, 0) / values.length;
}

/** Updates at the beginning and at the end of a run that are looked at together: a quarter of it, at least one. */
function edge(run: LessonRun): number {
  return Math.max(1, Math.floor(run.metrics.length / 4));
}

/** Mean of a metric over the first quarter of the updates. */
export function atFirst(run: LessonRun, name: string): number | null {
  return mean(metricOf(run, name).slice(0, edge(run)));
}

/** Mean of a metric over the last quarter of the updates. */
export function atLast(run: LessonRun, name: string): number | null {
  return mean(metricOf(run, name).slice(-edge(run)));
}

/** Groups of the first quarter of the updates, or of the last. */
export function groupsAt(run: LessonRun, where: "first" | "last"): LessonGroup[] {
  const updates = run.metrics.length;
  const isIn = (update: number): boolean => (where === "first" ? update <= edge(run) : update > updates - edge(run));
  return run.groups.filter(({ update }) => isIn(update));
}

/** All rollouts of groups. */
export function rolloutsOf(groups: readonly LessonGroup[]): LessonRollout[] {
  return groups.flatMap(({ rollouts }) => rollouts);
}

/** All calls of a run. */
export function callsOf(run: LessonRun): LessonCall[] {
  return rolloutsOf(run.groups).flatMap(({ calls }) => calls);
}

/** Text of the last reply; empty without one. */
export function finalReply({ calls }: LessonRollout): string {
  return calls.at(-1)?.text ?? "";
}

/** True when the last reply holds exactly one number, and it is the answer: what the task was meant to ask. */
export function isRight(rollout: LessonRollout): boolean {
  const numbers = finalReply(rollout).match(/\d+/g) ?? [];
  return numbers.length === 1 && numbers[0] === rollout.hidden.answer;
}

/** Share of rollouts for which something holds; null without rollouts. */
export function shareOf(rollouts: readonly LessonRollout[], holds: (rollout: LessonRollout) => boolean): number | null {
  return mean(rollouts.map((rollout) => Number(holds(rollout))));
}

/** The groups as the trainer takes them. */
export function groupRecords(groups: readonly LessonGroup[]): GroupRecord[] {
  return groups.map(({ id, rollouts }) => ({ id, task: id, rollouts, expected: rollouts.length }));
}

/** The groups as a batch under other settings: what an update with them would have been trained on. */
export function batchOf(groups: readonly LessonGroup[], options: Partial<BatchOptions>): Batch {
  return buildBatch(groupRecords(groups), options);
}

/** A number as text, "–" for none; what rounds to zero has no sign. */
export function shown(value: number | null | undefined, digits: number): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  return value.toFixed(digits).replace(/^-(?=[0.]+$)/, "");
}
