import { isTokenLevel } from "../advantages/token_registry.ts";
import { earned, earnsItself, treeReturns } from "../credit.ts";
import { allEqual } from "../reward_statistics.ts";
import type { BatchOptions, CallRecord } from "./batch_input.ts";

/** What a rollout that takes part is compared by. */
interface ComparedRollout {
  readonly id: string;
  readonly reward: number;
  readonly agentRewards?: Readonly<Record<string, number>>;
  readonly calls: readonly CallRecord[];
}

/** Rewards of every agent, those of one agent together. */
function byAgent(rollouts: readonly ComparedRollout[]): number[][] {
  const rewards = new Map<string, number[]>();
  for (const { calls, agentRewards, reward } of rollouts) {
    for (const agent of new Set(calls.map((call) => call.agent ?? ""))) {
      rewards.set(agent, [...(rewards.get(agent) ?? []), agentRewards?.[agent] ?? reward]);
    }
  }
  return [...rewards.values()];
}

/** What every call is credited with. */
function byCall(rollouts: readonly ComparedRollout[], { callDiscount }: BatchOptions): number[] {
  return rollouts.flatMap(({ id, calls, reward }) =>
    calls.some(earnsItself)
      ? Array.from(
          treeReturns(
            calls.map((call) => ({ ...call, rollout: id })),
            callDiscount,
          ),
        )
      : calls.map(() => reward),
  );
}

/** What all tokens of a rollout earned. */
function byTokens({ calls, reward }: ComparedRollout): number {
  return calls.some(earnsItself) ? calls.reduce((sum, call) => sum + earned(call), 0) : reward;
}

/**
 * True when all rewards that are compared with each other in a group are equal: those of its rollouts, or at level
 * "agent" those of each agent, at level "call" the calls' credits. Rollouts without a call are compared with nothing, as
 * long as two have some.
 */
export function rewardedAlike(group: readonly ComparedRollout[], options: BatchOptions): boolean {
  const asked = group.filter(({ calls }) => calls.length > 0);
  if (asked.length < 2) return allEqual(group.map(({ reward }) => reward));
  if (isTokenLevel(options.advantage)) return allEqual(asked.map(byTokens));
  if (options.level === "agent") return byAgent(asked).every(allEqual);
  if (options.level === "call") return allEqual(byCall(asked, options));
  return allEqual(asked.map(({ reward }) => reward));
}
