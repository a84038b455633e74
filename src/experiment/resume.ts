import type { Store } from "../schema/store.ts";
import type { TaskRow } from "../schema/task.ts";
import type { Rollout } from "../schema/wire.ts";
import { isOfTask } from "./groups.ts";
import type { RunState } from "./run_folder.ts";

/** What a run goes on with. */
export interface ResumeOptions {
  /** Settings that decide what a rollout is and are not those the stored ones were made with: `rolloutChanges`. */
  readonly changes: readonly string[];
  /** The task at an index of the stream; null where that is not settled yet. */
  taskAt(index: number): TaskRow | null;
  readonly groupSize: number;
  /** True where onEnqueue may have made another task of the dataset's. */
  readonly isHooked: boolean;
  /** Seconds since the epoch. */
  readonly now: number;
}

/** What became of the rollouts that the last checkpoint does not include. */
export interface ResumeReport {
  /** Succeeded and kept. */
  readonly kept: number;
  /**
   * Removed, to be run again: cut off, failed, never really run, drawn by weights that are lost, or in a group that is
   * unlike.
   */
  readonly restarted: number;
  /** Groups run again because their places in the stream have other tasks now. */
  readonly otherTasks: number;
}

const trainedName = /^g(\d+)-s(\d+)$/;
const validationName = /^val-u(\d+)-/;

/**
 * Brings a store in line with a checkpoint. Rollouts of groups that are not trained yet stay when they succeeded and had
 * asked their model something (what made an agent fail may have been mended since), all their tokens come from versions
 * the checkpoint knows, and the whole group has the task and the settings that the run goes on with: rollouts of two
 * tasks, or judged by two rules, are not to be compared. The others are removed, so that the loop creates them again under
 * the same names and, with the same weights, they draw the same tokens.
 */
export async function alignStore(store: Store, state: RunState, o: ResumeOptions): Promise<ResumeReport> {
  const { groups, removed } = sort(await store.rollouts(), state, o.groupSize);
  let [kept, restarted, otherTasks] = [0, 0, 0];
  for (const [index, rollouts] of groups) {
    const task = o.changes.length > 0 ? null : o.taskAt(index);
    const isOther = task !== null && !rollouts.every((rollout) => isOfTask(rollout, task, o.isHooked));
    if (isOther) otherTasks++;
    for (const rollout of rollouts) {
      const isAlike = o.changes.length === 0 && !isOther;
      const usable = isAlike && rollout.status.state === "succeeded";
      if (usable && (await isFrom(store, rollout.rollout_id, state.version))) kept++;
      else {
        restarted++;
        removed.push(rollout.rollout_id);
      }
    }
  }
  await store.append([
    ...removed.map((rolloutId) => ({ type: "rollout_deleted" as const, rolloutId, at: o.now })),
    { type: "experiment", name: "resumed", data: { update: state.update, restarted: removed }, at: o.now },
  ]);
  return { kept, restarted, otherTasks };
}

/** What people are told when a run goes on. */
export function resumeLines(update: number, report: ResumeReport, changes: readonly string[]): string[] {
  const { kept, restarted, otherTasks } = report;
  const lines = [`Resuming after update ${update}: ${kept} rollouts kept, ${restarted} run again.`];
  if (changes.length > 0 && restarted > 0) {
    lines.push(
      `What was not trained yet runs again, because the settings it was made with are others: ${changes.join(", ")}.`,
    );
  }
  if (otherTasks > 0) {
    const groups = otherTasks === 1 ? "1 group runs" : `${otherTasks} groups run`;
    lines.push(`${groups} again as a whole, because the dataset has other tasks in their places now.`);
  }
  return lines;
}

/** Rollouts that are not trained yet by their group's index, and the names of those that the run has no place for. */
function sort(
  rollouts: readonly Rollout[],
  { update, cursor, carryOver }: RunState,
  groupSize: number,
): { groups: Map<number, Rollout[]>; removed: string[] } {
  const groups = new Map<number, Rollout[]>();
  const removed: string[] = [];
  for (const rollout of rollouts) {
    const id = rollout.rollout_id;
    const validated = validationName.exec(id)?.[1];
    if (validated !== undefined && Number(validated) > update) removed.push(id);
    const [, group, sample] = trainedName.exec(id) ?? [];
    if (group === undefined) continue;
    const index = Number(group);
    if (index < cursor && !carryOver.includes(index)) continue;
    if (Number(sample) >= groupSize) removed.push(id);
    else groups.set(index, [...(groups.get(index) ?? []), rollout]);
  }
  return { groups, removed };
}

/** True when the rollout has calls, and no token of them is newer than `version`. */
async function isFrom(store: Store, rolloutId: string, version: number): Promise<boolean> {
  const calls = await store.calls(rolloutId);
  return calls.length > 0 && calls.every((call) => call.tokens.versions.every((v) => v <= version));
}
