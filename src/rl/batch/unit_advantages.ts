import type { ScoredUnit } from "../advantages/estimator.ts";
import { type AdvantageConfig, estimateAdvantages } from "../advantages/registry.ts";
import { earnsItself, treeReturns } from "../credit.ts";
import type { RowShare } from "../normalisation.ts";
import type { BatchOptions } from "./batch_input.ts";
import type { SelectedRollout } from "./select.ts";
import type { Layout } from "./units.ts";

/** Advantages of scalar rewards: of each unit (its tokens' mean) and, where they differ within one, of each call. */
export interface UnitAdvantages {
  units: number[];
  calls: ReadonlyMap<string, number> | null;
}

/** Names a call of the step. */
export function callName(rollout: string, call: string): string {
  return `${rollout}\u0000${call}`;
}

/** Sampled tokens of each rollout that has any, over all its units. */
function tokensByRollout(units: readonly RowShare[]): Map<string, number> {
  const tokens = new Map<string, number>();
  for (const unit of units) tokens.set(unit.rollout, (tokens.get(unit.rollout) ?? 0) + unit.tokens);
  return tokens;
}

function scoredUnit({ group, reward, greedyReward }: SelectedRollout, tokens: number): ScoredUnit {
  return { group, reward, tokens, baseline: greedyReward };
}

/** A call with its unit. */
interface PlacedCall {
  name: string;
  unit: number;
  tokens: number;
  rollout: SelectedRollout;
  call: Layout["calls"][number][number]["call"];
}

function placedCalls(layout: Layout, rollouts: readonly SelectedRollout[]): PlacedCall[] {
  const owners = new Map(rollouts.map((rollout) => [rollout.id, rollout]));
  return layout.calls.flatMap((calls, unit) =>
    calls.map(({ call, tokens }) => {
      const rollout = owners.get(layout.units[unit]?.rollout ?? "") as SelectedRollout;
      return { name: callName(rollout.id, call.id), unit, tokens, rollout, call };
    }),
  );
}

/** Every call a unit of its own: its credit along the tree, or the rollout's reward where no call earned anything. */
function byCall(calls: readonly PlacedCall[], { callDiscount }: BatchOptions): Map<string, ScoredUnit> {
  const credit = new Map<string, number>();
  for (const { id, calls: own, reward } of new Set(calls.map((placed) => placed.rollout))) {
    const tree = own.some(earnsItself)
      ? treeReturns(
          own.map((call) => ({ ...call, rollout: id })),
          callDiscount,
        )
      : null;
    own.forEach((call, i) => {
      credit.set(callName(id, call.id), tree === null ? reward : (tree[i] as number));
    });
  }
  return new Map(
    calls.map(({ name, rollout, tokens }) => [
      name,
      { ...scoredUnit(rollout, tokens), reward: credit.get(name) as number },
    ]),
  );
}

/** Every agent of a rollout a unit, compared with the same agent of the group's other rollouts. */
function byAgent(calls: readonly PlacedCall[]): Map<string, ScoredUnit> {
  const units = new Map<string, ScoredUnit>();
  for (const { rollout, call, tokens } of calls) {
    const agent = call.agent ?? "";
    const key = callName(rollout.id, agent);
    const reward = rollout.agentRewards?.[agent] ?? rollout.reward;
    const before = units.get(key)?.tokens ?? 0;
    units.set(key, { ...scoredUnit(rollout, before + tokens), group: callName(rollout.group, agent), reward });
  }
  return units;
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

function estimate(units: ReadonlyMap<string, ScoredUnit>, advantage: AdvantageConfig): Map<string, number> {
  const values = estimateAdvantages([...units.values()], advantage);
  return new Map([...units.keys()].map((key, i) => [key, values[i] as number]));
}

/**
 * The advantage of every unit by a scalar estimator. Only rollouts with sampled tokens are compared: a reward that no
 * token earned says nothing about the policy.
 */
export function unitAdvantages(
  layout: Layout,
  rollouts: readonly SelectedRollout[],
  advantage: AdvantageConfig,
  options: BatchOptions,
): UnitAdvantages {
  const { units } = layout;
  if (options.level === "call" || options.level === "agent") {
    const calls = placedCalls(layout, rollouts);
    if (options.level === "call") {
      return spread(layout, calls, estimate(byCall(calls, options), advantage), ({ name }) => name);
    }
    const values = estimate(byAgent(calls), advantage);
    return spread(layout, calls, values, ({ rollout, call }) => callName(rollout.id, call.agent ?? ""));
  }
  if (options.level === "row") {
    const owners = new Map(rollouts.map((rollout) => [rollout.id, rollout]));
    const scored = units.map((unit) => scoredUnit(owners.get(unit.rollout) as SelectedRollout, unit.tokens));
    return { units: [...estimateAdvantages(scored, advantage)], calls: null };
  }
  const tokens = tokensByRollout(units);
  const present = rollouts.filter((rollout) => tokens.has(rollout.id));
  const scored = new Map(present.map((rollout) => [rollout.id, scoredUnit(rollout, tokens.get(rollout.id) as number)]));
  const values = estimate(scored, advantage);
  return { units: units.map((unit) => values.get(unit.rollout) as number), calls: null };
}
