import type { RolloutRecord, CallRecord as TrainedCall } from "../rl/batch/batch_input.ts";
import { isReward } from "../schema/reward.ts";
import { eventTypes, type RolloutEvent } from "../schema/wire.ts";

/** What the reward events of an attempt give out. */
export interface Earned {
  /** The last one's that names neither a call nor an agent; null when there is none or it is no number. */
  readonly reward: number | null;
  readonly agentRewards: Readonly<Record<string, number>>;
  /** By call, as the event names it: the sum of its rewards, and of its tokens' the last ones. */
  readonly calls: ReadonlyMap<string, Pick<TrainedCall, "reward" | "tokenRewards">>;
}

/**
 * Rewards by whom they name: `{"value": 1}` is the rollout's, the last one wins; `{"value": 1, "agent": "coder"}` that
 * agent's, the last one wins; `{"value": 0.5, "call_id": "…"}` that call's, they add up; `{"token_values": […],
 * "call_id": "…"}` one per token the call drew. Values that no reward can have (isReward) count as absent.
 */
export function earnedBy(events: readonly RolloutEvent[]): Earned {
  const agentRewards: Record<string, number> = {};
  const calls = new Map<string, Pick<TrainedCall, "reward" | "tokenRewards">>();
  let reward: number | null = null;
  for (const { event_type, data } of events) {
    if (event_type !== eventTypes.reward) continue;
    const { value, agent, call_id: call, token_values: tokens } = data as Record<string, unknown>;
    if (typeof call === "string") {
      const before = calls.get(call) ?? {};
      const added = isReward(value) ? { reward: (before.reward ?? 0) + value } : {};
      const each = Array.isArray(tokens) ? { tokenRewards: tokens.map((v) => (isReward(v) ? v : 0)) } : {};
      calls.set(call, { ...before, ...added, ...each });
    } else if (typeof agent === "string") {
      if (isReward(value)) agentRewards[agent] = value;
    } else reward = isReward(value) ? value : null;
  }
  return { reward, agentRewards, calls };
}

/** The rollout with what was earned. An event may name a call by its id or by its reply's, which ends with it. */
export function withEarned(rollout: Omit<RolloutRecord, "reward">, earned: Earned): RolloutRecord {
  const named = [...earned.calls];
  const ofCall = (id: string) =>
    named.find(([name]) => name === id || name.endsWith(`-${id}`) || name.endsWith(`_${id}`));
  const calls = rollout.calls.map((call) => ({ ...call, ...ofCall(call.id)?.[1] }));
  const some = Object.keys(earned.agentRewards).length > 0;
  const byCalls = earned.calls.size === 0 ? null : total(earned);
  return {
    ...rollout,
    calls,
    reward: earned.reward ?? byCalls,
    ...(some ? { agentRewards: earned.agentRewards } : {}),
  };
}

/** Sum of what all calls earned; null where that is more than a reward can be. */
function total({ calls }: Earned): number | null {
  let sum = 0;
  for (const { reward = 0, tokenRewards = [] } of calls.values()) {
    sum += reward + Array.from(tokenRewards).reduce((a, b) => a + b, 0);
  }
  return isReward(sum) ? sum : null;
}
