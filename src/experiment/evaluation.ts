import type { Clock } from "../core/clock.ts";
import type { RolloutHooks } from "../rollout/hooks.ts";
import type { Store } from "../schema/store.ts";
import type { TaskRow } from "../schema/task.ts";
import type { RolloutConfig } from "../schema/wire.ts";
import { Completion } from "./completion.ts";
import { type Group, nameGroup, readGroup, startGroups } from "./groups.ts";

/** What an evaluation needs of a running session. */
export interface EvaluationDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly rolloutConfig: RolloutConfig;
  readonly hooks: RolloutHooks;
  readonly signal: AbortSignal;
  /** Called whenever a rollout has finished. */
  readonly progress?: (finished: number, total: number) => void;
}

/** Rewards of one task, a missing one counted as 0. */
export interface TaskResult {
  readonly task: string;
  readonly rewards: readonly number[];
}

/**
 * Runs `samples` validation rollouts of each task and returns their rewards in the order of the tasks. Rollouts are
 * named `label-tI-sJ`: equal labels draw equal samples from equal weights.
 */
export async function evaluate(
  deps: EvaluationDeps,
  label: string,
  tasks: readonly TaskRow[],
  samples: number,
): Promise<TaskResult[]> {
  const { store, clock, signal } = deps;
  const groups = tasks.map((task, i) => nameGroup(`${label}-t${i}`, task, samples));
  const completion = new Completion(store);
  await completion.catchUp();
  const { rolloutConfig: config, hooks } = deps;
  await startGroups(groups, { store, isTrain: false, config, hooks, now: clock.now() / 1000 });
  await completion.waitFor(groups, groups.length, signal, () => {
    const finished = groups.reduce((n, g) => n + completion.finishedOf(g), 0);
    deps.progress?.(finished, tasks.length * samples);
  });
  return Promise.all(groups.map((g) => taskResult(store, g)));
}

async function taskResult(store: Store, group: Group): Promise<TaskResult> {
  const { rollouts } = await readGroup(store, group);
  return { task: group.task.id, rewards: rollouts.map((r) => r.reward ?? 0) };
}
