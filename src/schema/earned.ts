/** What an attempt's reward events give out: read in one way by trainer, controller, commands and pages. */
import { isReward } from "./reward.ts";
import { type EventCreate, eventTypes } from "./wire.ts";

/** What a call earned: itself, and with each of its tokens. */
export interface CallEarnings {
  readonly reward?: number;
  readonly tokenRewards?: readonly number[];
}

/** What the reward events of an attempt give out. */
export interface Earned {
  /** The last that names neither a call nor an agent, else the sum of what the calls earned; null when there is none. */
  readonly reward: number | null;
  readonly agentRewards: Readonly<Record<string, number>>;
  /** By the call's id. */
  readonly calls: ReadonlyMap<string, CallEarnings>;
  /** Events that give nothing: their value is none that a reward can have, or they name no call of the attempt. */
  readonly ignored: number;
}

/** The call that an event names: by its id or by its reply's, which ends with it. */
function callNamed(name: string, ids: ReadonlySet<string>): string | undefined {
  if (ids.has(name)) return name;
  return [...ids].find((id) => name.endsWith(`-${id}`) || name.endsWith(`_${id}`));
}

/** What a call earned after one more event; undefined when that gives it nothing. */
function earnedMore(
  before: CallEarnings,
  { value, token_values: tokens }: Record<string, unknown>,
): CallEarnings | undefined {
  if (!isReward(value) && !Array.isArray(tokens)) return undefined;
  const added = isReward(value) ? { reward: (before.reward ?? 0) + value } : {};
  const each = Array.isArray(tokens) ? { tokenRewards: tokens.map((v) => (isReward(v) ? v : 0)) } : {};
  return { ...before, ...added, ...each };
}

/** Sum of what the calls earned; null for none, and where that is more than a reward can be. */
function total(calls: Earned["calls"]): number | null {
  let sum = 0;
  for (const { reward = 0, tokenRewards = [] } of calls.values()) {
    sum += reward + tokenRewards.reduce((a, b) => a + b, 0);
  }
  return calls.size > 0 && isReward(sum) ? sum : null;
}

/**
 * Rewards by whom they name: `{"value": 1}` is the rollout's, the last one wins; `{"value": 1, "agent": "coder"}` that
 * agent's, the last one wins; `{"value": 0.5, "call_id": "…"}` that call's, they add up; `{"token_values": […],
 * "call_id": "…"}` one per token the call drew, the last ones win. Values that no reward can have (isReward) count as
 * absent, so that those before them stand, and calls that are not among `callIds`, the attempt's, earn nothing.
 */
export function earnedBy(events: readonly EventCreate[], callIds: Iterable<string>): Earned {
  const ids = new Set(callIds);
  const agentRewards: Record<string, number> = {};
  const calls = new Map<string, CallEarnings>();
  let whole: number | null = null;
  let ignored = 0;
  for (const { event_type, data = {} } of events) {
    if (event_type !== eventTypes.reward) continue;
    const { value, agent, call_id: name } = data;
    if (typeof name === "string") {
      const id = callNamed(name, ids);
      const earnings = id === undefined ? undefined : earnedMore(calls.get(id) ?? {}, data);
      if (id === undefined || earnings === undefined) ignored++;
      else calls.set(id, earnings);
    } else if (!isReward(value)) ignored++;
    else if (typeof agent === "string") agentRewards[agent] = value;
    else whole = value;
  }
  return { reward: whole ?? total(calls), agentRewards, calls, ignored };
}
