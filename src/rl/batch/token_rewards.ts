import { LeydenError } from "../../core/errors.ts";
import { earnsItself } from "../credit.ts";
import type { Batch, CallRecord } from "./batch_input.ts";
import type { SelectedRollout } from "./select.ts";
import type { RecordPlace, UnitSequence } from "./sequences.ts";
import { callName } from "./unit_advantages.ts";

/** The call that drew a record's token, and the token's index among those it drew. */
function drawnBy(
  { origins }: Pick<Batch, "origins">,
  { row, record }: RecordPlace,
): { name: string; rollout: string; token: number } {
  const origin = origins[row];
  const from = origin?.calls[origin.call[record] as number];
  const rollout = from?.rollout ?? "";
  return { name: callName(rollout, from?.call ?? ""), rollout, token: origin?.token[record] as number };
}

/** Sums of a number per token, (N, T), over the tokens that each call drew, by the call's name. */
export function sumsByCall(
  batch: Pick<Batch, "origins">,
  sequences: readonly UnitSequence[],
  values: readonly Float64Array[],
): Map<string, number> {
  const sums = new Map<string, number>();
  for (const [i, { places }] of sequences.entries()) {
    for (const [t, place] of places.entries()) {
      const { name } = drawnBy(batch, place);
      sums.set(name, (sums.get(name) ?? 0) + (values[i]?.[t] as number));
    }
  }
  return sums;
}

/** What a call earned with its token `token`; its own reward comes with its last. */
function rewardOf({ replyIds, reward, tokenRewards }: CallRecord, token: number): number {
  const last = token === replyIds.length - 1;
  return (tokenRewards?.[token] ?? 0) + (last ? (reward ?? 0) : 0);
}

/** @throws LeydenError "reward_not_finite" when a token's reward is no float32 */
function requireFinite(reward: number, rollout: string): number {
  if (Number.isFinite(Math.fround(reward))) return reward;
  throw new LeydenError("reward_not_finite", `A token of rollout ${rollout} has the reward ${reward}.`, {
    do: "Make what rewards it return a finite number, or leave the rollout's reward out.",
  });
}

/**
 * What each token of every sequence earned, (N, T): the rewards of the calls where a call of the rollout has any, else
 * the rollout's reward with the last token of each of its sequences. @throws LeydenError "reward_not_finite"
 */
export function tokenRewards(
  batch: Batch,
  sequences: readonly UnitSequence[],
  rollouts: readonly SelectedRollout[],
): Float64Array[] {
  const owners = new Map(rollouts.map((rollout) => [rollout.id, rollout]));
  const calls = new Map(rollouts.flatMap((r) => r.calls.map((call) => [callName(r.id, call.id), call] as const)));
  const itself = new Set(rollouts.filter((r) => r.calls.some(earnsItself)).map((r) => r.id));
  return sequences.map(({ places }) =>
    Float64Array.from(places, (place, t) => {
      const { name, rollout, token } = drawnBy(batch, place);
      if (itself.has(rollout)) return requireFinite(rewardOf(calls.get(name) as CallRecord, token), rollout);
      return t === places.length - 1 ? (owners.get(rollout)?.reward ?? 0) : 0;
    }),
  );
}
