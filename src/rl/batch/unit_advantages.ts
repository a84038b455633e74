import type { ScoredUnit } from "../advantages/estimator.ts";
import { type AdvantageConfig, estimateAdvantages } from "../advantages/registry.ts";
import { earned, earnsItself, treeReturns } from "../credit.ts";
import type { RowShare } from "../normalisation.ts";
import type { BatchOptions } from "./batch_input.ts";
import type { SelectedRollout } from "./select.ts";
import type { Layout } from "./units.ts";

/** Advantages of scalar rewards: of each unit (its tokens' mean) and, where they differ within one, of each call. */
export interface UnitAdvantages {
  units: number[];
  calls: ReadonlyMap<string, number> | null;
}

/** What the tokens of each call take off its reward, by the call's name; 0 for those that are not there. */
export type Penalties = ReadonlyMap<string, number>;

const noPenalties: Penalties = new Map();

/** Names a call of the step. */
export function callName(rollout: string, call: string): string {
  return `${rollout}\u0000${call}`;
}

function scoredUnit({ group, reward, greedyReward }: SelectedRollout, tokens: number): ScoredUnit {
  return { group, reward, tokens, baseline: greedyReward };
}

/** A call with its unit. */
interface PlacedCall {
  name: string;
  unit: number;
  tokens: number;
  /** What its own tokens cost. */
  penalty: number;
  rollout: SelectedRollout;
  call: Layout["calls"][number][number]["call"];
}

function placedCalls(layout: Layout, rollouts: readonly SelectedRollout[], penalties: Penalties): PlacedCall[] {
  const owners = new Map(rollouts.map((rollout) => [rollout.id, rollout]));
  return layout.calls.flatMap((calls, unit) =>
    calls.map(({ call, tokens }) => {
      const rollout = owners.get(layout.units[unit]?.rollout ?? "") as SelectedRollout;
      const name = callName(rollout.id, call.id);
      return { name, unit, tokens, penalty: penalties.get(name) ?? 0, rollout, call };
    }),
  );
}

/**
 * Every call a unit of its own: its credit along the tree, or the rollout's reward where no call earned anything. What
 * tokens cost flows along the tree as what they earn does.
 */
function byCall(
  calls: readonly PlacedCall[],
  { callDiscount }: BatchOptions,
  penalties: Penalties,
): Map<string, ScoredUnit> {
  const credit = new Map<string, number>();
  for (const { id, calls: own, reward } of new Set(calls.map((placed) => placed.rollout))) {
    const given = own.some(earnsItself) ? 0 : reward;
    const net = own.map((call) => ({
      ...{ ...call, rollout: id, tokenRewards: [] },
      reward: earned(call) - (penalties.get(callName(id, call.id)) ?? 0),
    }));
    const tree = net.some((call) => call.reward !== 0) ? treeReturns(net, callDiscount) : null;
    own.forEach((call, i) => {
      credit.set(callName(id, call.id), given + (tree?.[i] ?? 0));
    });
  }
  return new Map(
    calls.map(({ name, rollout, tokens }) => [
      name,
      { ...scoredUnit(rollout, tokens), reward: credit.get(name) as number },
    ]),
  );
}

/** What the tokens of each unit cost. */
function costs({ units }: Layout, calls: readonly PlacedCall[]): number[] {
  const out = units.map(() => 0);
  for (const { unit, penalty } of calls) out[unit] = (out[unit] as number) + penalty;
  return out;
}

/** Every agent of a rollout a unit, compared with the same agent of the group's other rollouts. */
function byAgent(calls: readonly PlacedCall[]): Map<string, ScoredUnit> {
  const units = new Map<string, ScoredUnit>();
  for (const { rollout, call, tokens, penalty } of calls) {
    const agent = call.agent ?? "";
    const key = callName(rollout.id, agent);
    const before = units.get(key);
    const reward = (before?.reward ?? rollout.agentRewards?.[agent] ?? rollout.reward) - penalty;
    const group = callName(rollout.group, agent);
    units.set(key, { ...scoredUnit(rollout, (before?.tokens ?? 0) + tokens), group, reward });
  }
  return units;
}

/** Every rollout that has tokens, in the order given. */
function byRollout(
  units: readonly RowShare[],
  rollouts: readonly SelectedRollout[],
  costs: readonly number[],
): Map<string, ScoredUnit> {
  const tokens = new Map<string, number>();
  const cost = new Map<string, number>();
  for (const [i, { rollout, tokens: own }] of units.entries()) {
    tokens.set(rollout, (tokens.get(rollout) ?? 0) + own);
    cost.set(rollout, (cost.get(rollout) ?? 0) + (costs[i] as number));
  }
  const present = rollouts.filter(({ id }) => tokens.has(id));
  return new Map(
    present.map((rollout) => {
      const { id, reward } = rollout;
      const scored = scoredUnit(rollout, tokens.get(id) as number);
      return [id, { ...scored, reward: reward - (cost.get(id) as number) }];
    }),
  );
}

/** Every row a unit, with its rollout's reward less what its own tokens cost. */
function byRow(
  units: readonly RowShare[],
  rollouts: readonly SelectedRollout[],
  costs: readonly number[],
): ScoredUnit[] {
  const owners = new Map(rollouts.map((rollout) => [rollout.id, rollout]));
  return units.map(({ rollout, tokens }, i) => {
    const scored = scoredUnit(owners.get(rollout) as SelectedRollout, tokens);
    return { ...scored, reward: scored.reward - (costs[i] as number) };
  });
}

/** Spreads advantages by key over calls, and means over the tokens of each unit. */
function spread(
  layout: Layout,
  calls: readonly PlacedCall[],
  values: ReadonlyMap<string, number>,
  keyOf: (placed: PlacedCall) => string,
): UnitAdvantages {
  const units = layout.units.map(() => 0);
  const byName = new Map<string, number>();
  for (const placed of calls) {
    const value = values.get(keyOf(placed)) as number;
    byName.set(placed.name, value);
    const tokens = layout.units[placed.unit]?.tokens ?? 0;
    if (tokens > 0) units[placed.unit] = (units[placed.unit] as number) + (value * placed.tokens) / tokens;
  }
  return { units, calls: byName };
}

/** One number for every unit, in order. */
type Judge = (units: readonly ScoredUnit[]) => ArrayLike<number>;

function estimate(units: ReadonlyMap<string, ScoredUnit>, judge: Judge): Map<string, number> {
  const values = judge([...units.values()]);
  return new Map([...units.keys()].map((key, i) => [key, values[i] as number]));
}

function judged(
  layout: Layout,
  rollouts: readonly SelectedRollout[],
  judge: Judge,
  options: BatchOptions,
  penalties: Penalties,
): UnitAdvantages {
  const { units } = layout;
  const calls = placedCalls(layout, rollouts, penalties);
  switch (options.level) {
    case "call":
      return spread(layout, calls, estimate(byCall(calls, options, penalties), judge), ({ name }) => name);
    case "agent":
      return spread(layout, calls, estimate(byAgent(calls), judge), ({ rollout, call }) =>
        callName(rollout.id, call.agent ?? ""),
      );
    case "row":
      return { units: Array.from(judge(byRow(units, rollouts, costs(layout, calls)))), calls: null };
    case "rollout": {
      const values = estimate(byRollout(units, rollouts, costs(layout, calls)), judge);
      return { units: units.map(({ rollout }) => values.get(rollout) as number), calls: null };
    }
  }
}

/**
 * The advantage of every unit by a scalar estimator. Only rollouts with sampled tokens are compared: a reward that no
 * token earned says nothing about the policy. Whatever gets an advantage pays the penalties of its own tokens.
 */
export function unitAdvantages(
  layout: Layout,
  rollouts: readonly SelectedRollout[],
  advantage: AdvantageConfig,
  options: BatchOptions,
  penalties: Penalties = noPenalties,
): UnitAdvantages {
  return judged(layout, rollouts, (units) => estimateAdvantages(units, advantage), options, penalties);
}

/** What the sampled tokens of the step are rewarded with, one after another: what gets one advantage has one reward. */
export function tokenReturns(
  layout: Layout,
  rollouts: readonly SelectedRollout[],
  options: BatchOptions,
  penalties: Penalties = noPenalties,
): number[] {
  const { units, calls } = judged(layout, rollouts, (all) => all.map(({ reward }) => reward), options, penalties);
  return layout.units.flatMap(({ rollout, tokens }, i) => {
    if (calls === null) return new Array<number>(tokens).fill(units[i] as number);
    return (layout.calls[i] ?? []).flatMap((own) =>
      new Array<number>(own.tokens).fill(calls.get(callName(rollout, own.call.id)) as number),
    );
  });
}
