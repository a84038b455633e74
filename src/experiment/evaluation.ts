import type { Clock } from "../core/clock.ts";
import { ConfigError } from "../core/errors.ts";
import type { GroupRecord } from "../rl/batch/batch_input.ts";
import type { RolloutHooks } from "../rollout/hooks.ts";
import type { ExperimentConfig } from "../schema/experiment.ts";
import type { Store } from "../schema/store.ts";
import type { Dataset, TaskRow } from "../schema/task.ts";
import type { RolloutConfig } from "../schema/wire.ts";
import { Completion } from "./completion.ts";
import { nameGroup, readGroup, startGroups } from "./groups.ts";

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

/** What one rollout did. */
export interface RolloutTrace {
  /** True when it has a reward, be it 0. */
  readonly isRewarded: boolean;
  /** Tokens of each reply of the policy that its agent went on with: no side calls, nor what was abandoned. */
  readonly replies: readonly number[];
}

/** A task with its rewards and, parallel to them, what each rollout did. */
export interface EvaluatedTask extends TaskResult {
  readonly traces: readonly RolloutTrace[];
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
): Promise<EvaluatedTask[]> {
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
  return Promise.all(groups.map(async (g) => evaluated(await readGroup(store, g, "val"))));
}

/**
 * Ends what is to be measured where there is nothing to measure on: no reward is not a reward of 0.
 * @throws ConfigError when the dataset holds out no tasks; `asker` is what asks for them
 */
export function requireHeldOut({ heldOut }: Pick<Dataset, "heldOut">, asker: string, advice: string): void {
  if (heldOut.length > 0) return;
  throw new ConfigError(`${asker}, but the dataset holds out no tasks: heldOut is empty.`, { do: advice });
}

/** `requireHeldOut` for a run that is to validate. @throws ConfigError */
export function requireValidation({ eval: { every } }: Pick<ExperimentConfig, "eval">, dataset: Dataset): void {
  if (every === 0) return;
  requireHeldOut(
    dataset,
    `eval.every is ${every}`,
    "Give heldOut tasks that are in no stream, or set eval.every to 0.",
  );
}

/** A finished group as the evaluation of its task. */
export function evaluated({ task, rollouts }: GroupRecord): EvaluatedTask {
  return {
    task,
    rewards: rollouts.map(({ reward }) => reward ?? 0),
    traces: rollouts.map(({ reward, calls }) => ({
      isRewarded: reward !== null,
      replies: calls
        .filter(({ excluded, replyIds }) => excluded === undefined && replyIds.length > 0)
        .map(({ replyIds }) => replyIds.length),
    })),
  };
}

/** A validation's numbers under the names of metrics.jsonl; lengths and turns are means over rollouts with replies. */
export function validationMetrics(results: readonly EvaluatedTask[]): Record<string, number> {
  const traces = results.flatMap((result) => result.traces);
  const traced = traces.filter(({ replies }) => replies.length > 0);
  return {
    "val/reward": average(results.flatMap(({ rewards }) => rewards)),
    "val/n_rollouts": traces.length,
    "val/n_rollouts_w_trace": traced.length,
    "val/n_rollouts_w_reward": traces.filter(({ isRewarded }) => isRewarded).length,
    "val/turn_count": average(traced.map(({ replies }) => replies.length)),
    "val/mean_response_length_per_turn": average(traced.map(({ replies }) => average(replies))),
    "val/mean_total_response_length_per_rollout": average(traced.map(({ replies }) => total(replies))),
  };
}

function total(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0);
}

function average(values: readonly number[]): number {
  return total(values) / Math.max(1, values.length);
}
