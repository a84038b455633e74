import type { BatchOptions, CallRecord, RolloutRecord } from "./batch_input.ts";

/** What a filter found of a rollout: the metric that counts it, and whether the rollout is left out for it. */
export interface FilterFinding {
  name: string;
  excludes: boolean;
}

/** Versions between a call's oldest token and the trained one; 0 for a call that recorded none. */
function oldestAge({ versions }: CallRecord, version: number): number {
  let age = 0;
  for (let t = 0; t < (versions?.length ?? 0); t++) age = Math.max(age, version - (versions?.[t] as number));
  return age;
}

/** Everything of a rollout that a filter counts, in a fixed order; the calls of its own attempt are looked at. */
export function filterRollout(rollout: RolloutRecord, options: BatchOptions): FilterFinding[] {
  const calls = rollout.calls.filter((call) => call.attempt === rollout.attempt && call.excluded === undefined);
  const { maxAge, version } = options;
  const rules: [boolean, string, boolean][] = [
    [rollout.status === "failed", "training/n_rollouts_failed", options.failed === "exclude"],
    [rollout.status === "timed_out", "training/n_rollouts_timed_out", options.timedOut === "exclude"],
    [calls.some((c) => c.cutOff === true), "training/n_rollouts_overlong", options.overlong === "exclude"],
    [maxAge > 0 && calls.some((c) => oldestAge(c, version) > maxAge), "training/n_rollouts_stale", true],
  ];
  return rules.flatMap(([holds, name, excludes]) => (holds ? [{ name, excludes }] : []));
}
