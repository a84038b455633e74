import { LeydenError } from "../../core/errors.ts";
import type { BreakReason } from "../../schema/chat.ts";
import { isReward } from "../../schema/reward.ts";
import { hasLogprobs, idsKey } from "../call.ts";
import type { BatchOptions, CallRecord, GroupRecord, RolloutRecord } from "./batch_input.ts";
import { filterRollout } from "./filters.ts";
import { rewardedAlike } from "./zero_variance.ts";

/** A rollout that takes part, with the calls that can be trained. */
export interface SelectedRollout {
  id: string;
  group: string;
  task: string;
  reward: number;
  agentRewards?: Readonly<Record<string, number>>;
  greedyReward?: number;
  /** In canonical order, or in order of arrival for Agent Lightning's views. */
  calls: CallRecord[];
}

/** What takes part in the step, in order of (task, group, rollout), and what was left out and why. */
export interface Selection {
  rollouts: SelectedRollout[];
  counts: Record<string, number>;
}

/** Metric of calls that continue no earlier one, by the reason. */
const breakMetric = (reason: BreakReason): string => `training/breaks/${reason}`;
const breakReasons: readonly BreakReason[] = ["template", "retokenised", "edited", "compaction", "side", "unknown"];

/** Order of strings by code units, the same on every machine. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Order of call keys: of one prompt's draws, STEM.0, STEM.1, …, that of their numbers, so that the last draw is last. */
function compareKeys(a: string, b: string): number {
  const [[stemA, drawA], [stemB, drawB]] = [drawOf(a), drawOf(b)];
  return compare(stemA, stemB) || drawA - drawB || compare(a, b);
}

/** A call key without the number of its draw, and that number; 0 for one without. */
function drawOf(key: string): [string, number] {
  const found = /^(.*)\.(\d+)$/s.exec(key);
  return found === null ? [key, 0] : [found[1] as string, Number(found[2])];
}

/** Order of calls that does not depend on arrival: call key; should keys repeat, the tokens. */
function compareCalls(a: CallRecord, b: CallRecord): number {
  return (
    compareKeys(a.key, b.key) ||
    compare(idsKey(a.promptIds), idsKey(b.promptIds)) ||
    compare(idsKey(a.replyIds), idsKey(b.replyIds)) ||
    compare(a.id, b.id)
  );
}

/** Calls in the order that a view needs: a longest-prefix row must meet a call before those that continue it. */
function orderCalls(calls: CallRecord[], view: BatchOptions["view"]): CallRecord[] {
  if (view === "trajectory" || view === "transition") return calls;
  if (view === "trie") return calls.sort(compareCalls);
  return calls.sort((a, b) => a.promptIds.length - b.promptIds.length || compareCalls(a, b));
}

function requireUnique(ids: readonly string[], what: string): void {
  const seen = new Set<string>();
  for (const id of ids) {
    if (seen.has(id)) {
      throw new LeydenError("trained_twice", `The ${what} ${id} is twice in one batch.`, {
        do: `Pass every ${what} once; a task drawn twice is two groups with ids of their own.`,
        data: { id },
      });
    }
    seen.add(id);
  }
}

/** Why a call cannot be trained; null when it can. */
function callFault(call: CallRecord, attempt: string, { maxCallTokens }: BatchOptions): string | null {
  if (call.attempt !== attempt) return "training/n_calls_abandoned";
  if (call.excluded !== undefined) return "training/n_calls_excluded";
  if (call.replyIds.length === 0) return "training/n_calls_empty";
  if (call.promptIds.length === 0) return "training/n_calls_without_prompt";
  if (call.promptIds.length + call.replyIds.length > maxCallTokens) return "training/n_calls_too_long";
  return hasLogprobs(call) ? null : "training/n_calls_without_logprobs";
}

/** Applies the policies of the options to each rollout, counting everything that it leaves out. */
class Selector {
  readonly counts: Record<string, number> = {
    "training/n_rollouts": 0,
    "training/n_rollouts_w_trace": 0,
    "training/n_rollouts_w_reward": 0,
    "training/n_rewards_ignored": 0,
    "training/n_rollouts_failed": 0,
    "training/n_rollouts_timed_out": 0,
    "training/n_rollouts_overlong": 0,
    "training/n_rollouts_stale": 0,
    "training/n_rollouts_excluded": 0,
    "training/n_groups_zero_variance_excluded": 0,
    "training/n_groups_incomplete": 0,
    "training/n_groups_excluded": 0,
    "training/n_calls": 0,
    "training/n_calls_abandoned": 0,
    "training/n_calls_excluded": 0,
    "training/n_calls_empty": 0,
    "training/n_calls_without_prompt": 0,
    "training/n_calls_too_long": 0,
    "training/n_calls_without_logprobs": 0,
    ...Object.fromEntries(breakReasons.map((reason) => [breakMetric(reason), 0])),
  };
  private readonly options: BatchOptions;

  constructor(options: BatchOptions) {
    this.options = options;
  }

  private count(name: string, by = 1): void {
    this.counts[name] = (this.counts[name] ?? 0) + by;
  }

  /** The reward to train with; null leaves the rollout out. */
  private reward(rollout: RolloutRecord): number | null {
    if (isReward(rollout.reward)) return rollout.reward;
    if (this.options.missingReward === "fill") return this.options.rewardFill;
    if (this.options.missingReward === "exclude") return null;
    throw new LeydenError(
      "missing_reward",
      `Rollout ${rollout.id} ended as ${rollout.status} with reward ${rollout.reward}.`,
      {
        do: "Let the grader score every rollout, or set missingReward to fill or exclude.",
        data: { rollout: rollout.id },
      },
    );
  }

  private calls(rollout: RolloutRecord): CallRecord[] {
    const trained = rollout.calls.filter((call) => {
      const fault = callFault(call, rollout.attempt, this.options);
      this.count(fault ?? "training/n_calls");
      if (call.breakReason && call.attempt === rollout.attempt) this.count(breakMetric(call.breakReason));
      return fault === null;
    });
    return orderCalls(trained, this.options.view);
  }

  /** The rollout as it takes part; null when a policy leaves it out or it has nothing to train. */
  rollout(group: GroupRecord, rollout: RolloutRecord): SelectedRollout | null {
    this.count("training/n_rollouts");
    if (isReward(rollout.reward)) this.count("training/n_rollouts_w_reward");
    this.count("training/n_rewards_ignored", rollout.ignoredRewards ?? 0);
    const found = filterRollout(rollout, this.options);
    for (const { name } of found) this.count(name);
    const reward = found.some(({ excludes }) => excludes) ? null : this.reward(rollout);
    if (reward === null) {
      this.count("training/n_rollouts_excluded");
      return null;
    }
    const calls = this.calls(rollout);
    if (calls.length > 0) this.count("training/n_rollouts_w_trace");
    const { id, task, greedyReward } = group;
    const { agentRewards } = rollout;
    return { id: rollout.id, group: id, task, reward, greedyReward, calls, ...(agentRewards && { agentRewards }) };
  }

  /** The group's rollouts that take part; none when the group is incomplete and such groups are left out. */
  group(group: GroupRecord): SelectedRollout[] {
    const sorted = [...group.rollouts].sort((a, b) => compare(a.id, b.id));
    const selected = sorted.flatMap((rollout) => this.rollout(group, rollout) ?? []);
    if (selected.length < Math.max(group.expected ?? 0, group.rollouts.length)) {
      this.count("training/n_groups_incomplete");
      if (this.options.incompleteGroup === "exclude") {
        this.count("training/n_groups_excluded");
        return [];
      }
    }
    const { zeroVariance } = this.options;
    if (zeroVariance === "keep" || selected.length < 2 || !rewardedAlike(selected, this.options)) return selected;
    this.count("training/n_groups_zero_variance_excluded");
    return [];
  }
}

/**
 * Chooses what is trained and puts it in order.
 * @throws LeydenError "trained_twice" on a repeated group or rollout id, "missing_reward" where the options say so.
 */
export function select(groups: readonly GroupRecord[], options: BatchOptions): Selection {
  requireUnique(
    groups.map((group) => group.id),
    "group",
  );
  requireUnique(
    groups.flatMap((group) => group.rollouts.map((rollout) => rollout.id)),
    "rollout",
  );
  const selector = new Selector(options);
  const sorted = [...groups].sort((a, b) => compare(a.task, b.task) || compare(a.id, b.id));
  const rollouts = sorted.flatMap((group) => selector.group(group));
  return { rollouts, counts: selector.counts };
}
