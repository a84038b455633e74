import type { Batch, GroupRecord, RolloutRecord } from "../rl/batch/batch_input.ts";
import type { Objective } from "./objective.ts";
import { stepMetrics, type TakenUpdate, takeUpdate, type UpdateHost } from "./take_update.ts";
import { addedTimes, timeMetrics } from "./update_times.ts";

/** A rollout as one of several policies sees it: its own calls, and what it earned itself where that was said. */
function ofPolicy(rollout: RolloutRecord, policy: string): RolloutRecord {
  return {
    ...rollout,
    reward: rollout.agentRewards?.[policy] ?? rollout.reward,
    calls: rollout.calls.map((call) =>
      call.policy === policy ? call : { ...call, excluded: call.excluded ?? "another policy" },
    ),
  };
}

/** The groups as one of several policies sees them. */
export function groupsOfPolicy(groups: readonly GroupRecord[], policy: string): GroupRecord[] {
  return groups.map((group) => ({ ...group, rollouts: group.rollouts.map((rollout) => ofPolicy(rollout, policy)) }));
}

/**
 * One update of each policy, on a batch of its own: the calls that it answered. Numbers of the first stand under their
 * plain names, those of each under "policy/NAME/…". With one policy, or none named, it is that policy's update.
 * @throws as takeUpdate
 */
export async function takeUpdates(
  host: UpdateHost,
  id: string,
  groups: readonly GroupRecord[],
  objective: Objective,
  policies: readonly string[],
): Promise<TakenUpdate> {
  if (policies.length < 2) return takeUpdate(host, id, groups, objective);
  // The step of one policy makes the tokens of the others no older.
  const { version } = await host.engine.info();
  const taken: TakenUpdate[] = [];
  const named: Record<string, number> = {};
  for (const adapter of policies) {
    const own = groupsOfPolicy(groups, adapter);
    const one = await takeUpdate(host, `${id}-${adapter}`, own, { ...objective, adapter }, version);
    taken.push(one);
    for (const [name, value] of Object.entries({
      ...one.batch.metrics,
      ...stepMetrics(one),
      ...timeMetrics(one.times),
    })) {
      if (typeof value === "number") named[`policy/${adapter}/${name}`] = value;
    }
  }
  return together(taken, named);
}

/** The first policy's update with the records of all, and the numbers of each. */
function together(taken: readonly TakenUpdate[], named: Readonly<Record<string, number>>): TakenUpdate {
  const [first] = taken as [TakenUpdate];
  const batch: Batch = { ...first.batch, metrics: { ...first.batch.metrics, ...named } };
  const logprobs = new Float32Array(taken.reduce((n, one) => n + one.logprobs.length, 0));
  let at = 0;
  for (const one of taken) {
    logprobs.set(one.logprobs, at);
    at += one.logprobs.length;
  }
  const recorded = {
    rows: taken.flatMap((one) => one.recorded.rows),
    origins: taken.flatMap((one) => one.recorded.origins),
  };
  const times = addedTimes(taken.map((one) => one.times));
  const tokens = {
    response: taken.reduce((n, one) => n + one.tokens.response, 0),
    total: taken.reduce((n, one) => n + one.tokens.total, 0),
  };
  return { ...first, batch, recorded, logprobs, times, tokens };
}
