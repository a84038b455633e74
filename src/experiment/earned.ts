import type { RolloutRecord } from "../rl/batch/batch_input.ts";
import type { Earned } from "../schema/earned.ts";

/** The rollout with what was earned; a reward of an agent that made none of its calls, and is no policy, is ignored. */
export function withEarned(rollout: Omit<RolloutRecord, "reward">, earned: Earned): RolloutRecord {
  const { reward, agentRewards } = earned;
  const calls = rollout.calls.map((call) => ({ ...call, ...earned.calls.get(call.id) }));
  const agents = new Set(calls.flatMap(({ agent, policy }) => [agent, policy]));
  const named = Object.keys(agentRewards);
  const ignored = earned.ignored + named.filter((agent) => !agents.has(agent)).length;
  return {
    ...rollout,
    calls,
    reward,
    ...(named.length > 0 ? { agentRewards } : {}),
    ...(ignored > 0 ? { ignoredRewards: ignored } : {}),
  };
}
