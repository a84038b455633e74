/** How events become a rollout's line in tables: every store folds them the same way. */
import { isReward } from "../schema/reward.ts";
import { dataIdOf } from "../schema/rollout.ts";
import type { RolloutSummary } from "../schema/rollout_summary.ts";
import type { CallFailure, CallRecord } from "../schema/store.ts";
import { eventTypes, type Rollout, type RolloutEvent, type RolloutStatus } from "../schema/wire.ts";

/** A line, and what is needed to go on folding. */
export interface FoldedSummary {
  readonly line: RolloutSummary;
  /** Attempts met, by first mention. */
  readonly met: readonly string[];
  /** Reward of the whole rollout; absent until an event gives one. */
  readonly whole?: number | null;
  /** What calls earned themselves and with their tokens, by the name the events use. */
  readonly ofCalls?: Readonly<Record<string, { readonly own: number; readonly tokens: number }>>;
}

const nothing = { agents: [], reward: null, calls: 0, promptTokens: 0, sampledTokens: 0, breaks: 0, failures: 0 };

function nameIn(metadata: Record<string, unknown>, key: string): string | null {
  const value = metadata[key];
  return typeof value === "string" ? value : null;
}

/** The line of a rollout that was just created. */
export function foldCreated({ rollout_id: id, input, is_train, metadata, status }: Rollout): FoldedSummary {
  const line: RolloutSummary = {
    id,
    mode: is_train ? "train" : "val",
    task: nameIn(metadata, "task") ?? dataIdOf(input),
    group: nameIn(metadata, "group") ?? "",
    attempts: 0,
    ...nothing,
    versions: null,
    createdAt: status.created_at,
    ...factsOf(status),
  };
  return { line, met: [] };
}

function factsOf(status: RolloutStatus): Pick<RolloutSummary, "state" | "attempt" | "error" | "updatedAt"> {
  const { state, last_attempt_id: attempt, error_message: error, updated_at: updatedAt } = status;
  return { state, attempt, error, updatedAt };
}

/** After a patch; a new attempt begins with nothing done. */
export function foldStatus(folded: FoldedSummary, status: RolloutStatus): FoldedSummary {
  const { line, met } = folded;
  const facts = factsOf(status);
  // Without a controller nobody says which attempt counts: then it is the one met last.
  const attempt = facts.attempt ?? line.attempt;
  if (attempt === line.attempt) return { ...folded, line: { ...line, ...facts, attempt } };
  return { met, line: { ...line, ...nothing, versions: null, ...facts, attempt } };
}

/** The fold with an attempt met. `named`: the attempt that the status says counts, or null. */
function meeting(folded: FoldedSummary, attempt: string, named: string | null): FoldedSummary {
  const { line, met } = folded;
  if (met.includes(attempt)) return folded;
  const known = [...met, attempt];
  const here = { ...folded, met: known, line: { ...line, attempts: known.length } };
  if (line.attempt === attempt || named !== null) return here;
  return { met: known, line: { ...here.line, ...nothing, versions: null, attempt } };
}

/** After a recorded call. */
export function foldCall(before: FoldedSummary, call: CallRecord, named: string | null): FoldedSummary {
  const folded = meeting(before, call.attemptId, named);
  if (folded.line.attempt !== call.attemptId) return folded;
  const { line } = folded;
  const { promptIds, replyIds, versions } = call.tokens;
  const agent = typeof call.request.model === "string" ? call.request.model : call.policy;
  const all = call.own ? [...(line.versions ?? []), ...extremes(versions)] : (line.versions ?? []);
  return {
    ...folded,
    line: {
      ...line,
      agents: line.agents.includes(agent) ? line.agents : [...line.agents, agent],
      calls: line.calls + 1,
      promptTokens: line.promptTokens + promptIds.length,
      sampledTokens: line.sampledTokens + replyIds.length,
      breaks: line.breaks + (call.breakReason === null ? 0 : 1),
      versions: all.length === 0 ? null : [Math.min(...all), Math.max(...all)],
    },
  };
}

function extremes(versions: Int32Array): number[] {
  if (versions.length === 0) return [];
  return [versions.reduce((a, b) => Math.min(a, b)), versions.reduce((a, b) => Math.max(a, b))];
}

/** After a call that gave no reply. */
export function foldFailure(before: FoldedSummary, failure: CallFailure, named: string | null): FoldedSummary {
  const folded = meeting(before, failure.attemptId, named);
  if (folded.line.attempt !== failure.attemptId) return folded;
  return { ...folded, line: { ...folded.line, failures: folded.line.failures + 1 } };
}

/** After a posted event. Rewards that name an agent are that agent's and leave the line as it is. */
export function foldEvent(before: FoldedSummary, event: RolloutEvent, named: string | null): FoldedSummary {
  const folded = meeting(before, event.attempt_id, named);
  if (folded.line.attempt !== event.attempt_id) return folded;
  if (event.event_type !== eventTypes.reward) return folded;
  const { value, agent, call_id: call, token_values: tokens } = event.data;
  if (typeof call === "string") {
    const known = folded.ofCalls?.[call] ?? { own: 0, tokens: 0 };
    const own = known.own + (isReward(value) ? value : 0);
    const each = Array.isArray(tokens) ? tokens.reduce<number>((a, b) => a + (isReward(b) ? b : 0), 0) : known.tokens;
    return withReward({ ...folded, ofCalls: { ...folded.ofCalls, [call]: { own, tokens: each } } });
  }
  if (typeof agent === "string") return folded;
  return isReward(value) ? withReward({ ...folded, whole: value }) : folded;
}

/** The rollout's own reward, else what its calls earned. */
function withReward(folded: FoldedSummary): FoldedSummary {
  const ofCalls = Object.values(folded.ofCalls ?? {});
  const summed = ofCalls.length === 0 ? null : ofCalls.reduce((sum, { own, tokens }) => sum + own + tokens, 0);
  return { ...folded, line: { ...folded.line, reward: folded.whole ?? (isReward(summed) ? summed : null) } };
}
