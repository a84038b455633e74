import type { RolloutTree, TreeCall } from "../../rl/trie/rollout_tree.ts";
import type { AttemptEnd } from "../../rollout/failure.ts";
import type { BreakReason } from "../../schema/chat.ts";

/** What the gateway's list of calls says of one, besides its tree. */
export interface ListedCall {
  readonly id: string;
  readonly own: boolean;
  /** Where it was answered: "engine", "script", "null", or a foreign model's address. */
  readonly endpoint: string;
  readonly prompt_len: number;
  readonly reply_len: number;
}

/** A call that was answered with an error, or given up by the agent. */
export interface FailedCall {
  readonly code: string;
  readonly http_status: number;
}

/** How a trial went, besides the calls that were answered. */
export interface TrialCourse {
  readonly end: AttemptEnd;
  readonly failures: readonly FailedCall[];
}

/** What a trial shows of an agent's calls. */
export interface TrialRecord {
  readonly calls: number;
  readonly lineages: number;
  /** Why calls that are no continuation began anew, in order; the first call of all has none. */
  readonly breaks: readonly BreakReason[];
  readonly promptTokens: number;
  readonly sampledTokens: number;
  /** Calls whose prompt begins with an earlier call's prompt and reply, token for token. */
  readonly continuations: number;
  /** Whether every call could be trained as it stands. */
  readonly trainable: boolean;
  /** Why, or why not, in one sentence without its full stop. */
  readonly because: string;
}

/** Breaks that an agent is entitled to: conversations of their own. The others mean that its history was not kept. */
const ownConversations: readonly BreakReason[] = ["side", "compaction"];

function counted(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}

/** Why a program ended that did so by itself and badly: "ended with 1"; null for every other end. */
export function deathOf({ exit, stopped }: AttemptEnd): string | null {
  if (exit === null || stopped !== null || exit.code === 0) return null;
  return exit.signal ? `was ended by ${exit.signal}` : `ended with ${exit.code}`;
}

/** What an agent owes that asks another model than it was given. */
const addressAdvice = "take its model's address from its environment";

/** Why there is no call. A program that failed has said so itself; only then may its model's address be at fault. */
function withoutCalls({ end, failures }: TrialCourse): string {
  if (end.startError !== null) return "it could not be started";
  if (failures.length > 0) {
    const codes = [...new Set(failures.map(({ code }) => code))].join(", ");
    return `no call was answered: ${counted(failures.length, "call")} failed (${codes})`;
  }
  const death = deathOf(end);
  if (death !== null) {
    return `the program ${death} before any call reached the gateway; mend what it says, or, if it asked another model, let it ${addressAdvice}`;
  }
  if (end.stopped === "cancelled") return "it was stopped before any call reached the gateway";
  return `no call reached the gateway; an agent has to ${addressAdvice}`;
}

/** Why the calls cannot be trained; null when they can. */
function fault(tree: RolloutTree, listed: readonly ListedCall[], course: TrialCourse): string | null {
  const total = listed.length;
  if (total === 0) return withoutCalls(course);
  if (listed.some(({ endpoint }) => endpoint === "null")) return "no model computed the replies' logprobs";
  const foreign = listed.filter(({ own }) => !own).length;
  if (foreign > 0) return `${counted(foreign, "call")} of ${total} went to another model`;
  const bare = total - tree.samples.filter(({ logprobs }) => logprobs !== null).length;
  if (bare > 0) return `the tokens of ${counted(bare, "call")} of ${total} have no logprobs`;
  const lost = tree.calls.filter((call) => call.break !== null && !ownConversations.includes(call.break));
  if (lost.length === 0) return null;
  const reasons = [...new Set(lost.map((call) => call.break))].join(", ");
  return `${counted(lost.length, "call")} of ${total} did not continue the recorded tokens (${reasons})`;
}

function praise(calls: readonly TreeCall[], sampledTokens: number): string {
  const continuations = calls.filter((call) => call.parent !== null).length;
  const whole = `every sampled token (${sampledTokens}) is recorded with its logprob`;
  if (continuations === 0) return whole;
  const begin = continuations === 1 ? "begins" : "begin";
  return `${whole}, and ${counted(continuations, "continuation")} ${begin} with the earlier tokens verbatim`;
}

/** Sums up what was recorded of a rollout. */
export function trialRecord(tree: RolloutTree, listed: readonly ListedCall[], course: TrialCourse): TrialRecord {
  const { calls } = tree;
  const sampledTokens = listed.reduce((sum, call) => sum + call.reply_len, 0);
  const why = fault(tree, listed, course);
  return {
    calls: calls.length,
    lineages: new Set(calls.map((call) => call.lineage)).size,
    breaks: calls.flatMap((call) => call.break ?? []),
    promptTokens: listed.reduce((sum, call) => sum + call.prompt_len, 0),
    sampledTokens,
    continuations: calls.filter((call) => call.parent !== null).length,
    trainable: why === null,
    because: why ?? praise(calls, sampledTokens),
  };
}
