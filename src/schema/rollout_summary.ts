/** What is known of a rollout in one line, and how such lines are asked for: pages of a table of any length. */
import type { RolloutMode, RolloutState } from "./wire.ts";

/** One rollout and what its counting attempt did. */
export interface RolloutSummary {
  id: string;
  state: RolloutState;
  mode: RolloutMode;
  /** As its metadata names it, else the input's own id; "" when neither does. */
  task: string;
  /** Rollouts that are compared with each other; "" for a rollout of none. */
  group: string;
  /** The attempt that counts: the last one started; null before the first. */
  attempt: string | null;
  /** Attempts that left anything. */
  attempts: number;
  /** Models that answered its calls, by first use: agents of one rollout are told apart by them. */
  agents: string[];
  /** Null when there is none yet. */
  reward: number | null;
  calls: number;
  promptTokens: number;
  sampledTokens: number;
  /** Calls that continue no earlier one although they are not their attempt's first. */
  breaks: number;
  /** Calls without a reply to record. */
  failures: number;
  /** Oldest and newest policy version of the sampled tokens; null without any. */
  versions: [first: number, last: number] | null;
  error: string | null;
  /** Seconds since the epoch. */
  createdAt: number;
  updatedAt: number;
}

/** What a table of rollouts may be sorted by. */
export const summarySorts = [
  "created",
  "updated",
  "reward",
  "calls",
  "tokens",
  "breaks",
  "task",
  "state",
  "group",
] as const;
export type SummarySort = (typeof summarySorts)[number];

/** Which lines, in which order. Absent filters keep everything; all that are given must hold. */
export interface SummaryQuery {
  states?: readonly RolloutState[];
  mode?: RolloutMode;
  /** One of the rollout's agents. */
  agent?: string;
  task?: string;
  groups?: readonly string[];
  ids?: readonly string[];
  /** Bounds, themselves included; either leaves rollouts without a reward out. */
  rewardMin?: number;
  rewardMax?: number;
  /** True: only rollouts with breaks; false: only those without. */
  breaks?: boolean;
  /** Stands in the id, the task or the error; capitals A to Z count as small. */
  text?: string;
  /** Default "created". Equal ones stand in order of creation; missing rewards come last. */
  sort?: SummarySort;
  descending?: boolean;
  /** Lines left out at the beginning, and at most returned. */
  offset?: number;
  limit: number;
}

/** A piece of a table. */
export interface SummaryPage {
  rows: RolloutSummary[];
  /** Lines that the filters keep. */
  total: number;
  /** Every agent of any rollout, sorted, whatever the filters. */
  agents: string[];
}

/** Capitals A to Z made small: what every database can do as well. */
export function asciiLower(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** The value a line is sorted by; null comes last in both directions. */
export function sortValue(line: RolloutSummary, sort: Exclude<SummarySort, "created">): number | string | null {
  if (sort === "tokens") return line.sampledTokens;
  if (sort === "updated") return line.updatedAt;
  return line[sort];
}

/** True when a line meets every filter. */
export function meetsQuery(line: RolloutSummary, q: SummaryQuery): boolean {
  const { reward } = line;
  const bounded = q.rewardMin !== undefined || q.rewardMax !== undefined;
  if (bounded && reward === null) return false;
  if (reward !== null && (reward < (q.rewardMin ?? reward) || reward > (q.rewardMax ?? reward))) return false;
  if (q.states !== undefined && !q.states.includes(line.state)) return false;
  if (q.mode !== undefined && line.mode !== q.mode) return false;
  if (q.agent !== undefined && !line.agents.includes(q.agent)) return false;
  if (q.task !== undefined && line.task !== q.task) return false;
  if (q.groups !== undefined && !q.groups.includes(line.group)) return false;
  if (q.ids !== undefined && !q.ids.includes(line.id)) return false;
  if (q.breaks !== undefined && line.breaks > 0 !== q.breaks) return false;
  if (q.text === undefined || q.text === "") return true;
  const wanted = asciiLower(q.text);
  return [line.id, line.task, line.error ?? ""].some((text) => asciiLower(text).includes(wanted));
}

/** Strings by their UTF-8 bytes, which order as code points do. */
function compareText(a: string, b: string): number {
  const [left, right] = [[...a], [...b]];
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const difference = (left[i]?.codePointAt(0) ?? 0) - (right[i]?.codePointAt(0) ?? 0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

function compareValues(a: number | string, b: number | string): number {
  return typeof a === "number" && typeof b === "number" ? a - b : compareText(String(a), String(b));
}

/** The piece of a table that a query asks for; `lines` stand in order of creation. */
export function summaryPage(lines: readonly RolloutSummary[], query: SummaryQuery): SummaryPage {
  const { sort = "created", descending = false, offset = 0, limit } = query;
  const kept = lines.filter((line) => meetsQuery(line, query));
  const way = descending ? -1 : 1;
  if (sort === "created") {
    if (descending) kept.reverse();
  } else {
    kept.sort((x, y) => {
      const [a, b] = [sortValue(x, sort), sortValue(y, sort)];
      if (a === null || b === null) return Number(a === null) - Number(b === null);
      return way * compareValues(a, b);
    });
  }
  const agents = [...new Set(lines.flatMap((line) => line.agents))].sort(compareText);
  return { rows: kept.slice(offset, offset + Math.max(0, limit)), total: kept.length, agents };
}
