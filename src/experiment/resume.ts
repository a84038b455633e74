import { isTerminal } from "../schema/rollout.ts";
import type { Store } from "../schema/store.ts";
import { failedAround } from "./failures.ts";
import type { RunState } from "./run_folder.ts";

/** What became of the rollouts that the last checkpoint does not include. */
export interface ResumeReport {
  /** Finished and kept. */
  readonly kept: number;
  /** Removed, to be run again: cut off, never really run, or drawn by weights that are lost. */
  readonly restarted: number;
}

const trainedName = /^g(\d+)-s\d+$/;
const validationName = /^val-u(\d+)-/;

/**
 * Brings a store in line with a checkpoint. Rollouts of groups that are not trained yet stay when they finished (not
 * when they failed for reasons around their agent) and all their tokens come from versions the checkpoint knows; the others are removed, so that the loop creates them
 * again under the same names and, with the same weights, they draw the same tokens.
 */
export async function alignStore(store: Store, state: RunState, now: number): Promise<ResumeReport> {
  const carried = new Set(state.carryOver);
  let kept = 0;
  const removed: string[] = [];
  for (const rollout of await store.rollouts()) {
    const id = rollout.rollout_id;
    const validation = validationName.exec(id)?.[1];
    if (validation !== undefined) {
      if (Number(validation) > state.update) removed.push(id);
      continue;
    }
    const index = trainedName.exec(id)?.[1];
    const trained = index === undefined || (Number(index) < state.cursor && !carried.has(Number(index)));
    if (trained) continue;
    const ended = isTerminal(rollout.status.state) && !failedAround(rollout);
    const usable = ended && (await isFrom(store, id, state.version));
    if (usable) kept++;
    else removed.push(id);
  }
  await store.append([
    ...removed.map((rolloutId) => ({ type: "rollout_deleted" as const, rolloutId, at: now })),
    { type: "experiment", name: "resumed", data: { update: state.update, restarted: removed }, at: now },
  ]);
  return { kept, restarted: removed.length };
}

/** True when no token of the rollout is newer than `version`. */
async function isFrom(store: Store, rolloutId: string, version: number): Promise<boolean> {
  const calls = await store.calls(rolloutId);
  return calls.every((call) => call.tokens.versions.every((v) => v <= version));
}
