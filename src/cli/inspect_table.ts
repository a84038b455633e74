import { earnedBy } from "../schema/earned.ts";
import type { CallRecord, Store } from "../schema/store.ts";
import { eventTypes, type Rollout } from "../schema/wire.ts";
import { counted } from "./counted.ts";
import { visibleLine } from "./visible_text.ts";

/** One line of the table: a rollout, and what its counting attempt did. */
export interface RolloutLine {
  readonly rollout: string;
  readonly mode: "train" | "val";
  readonly state: Rollout["status"]["state"];
  /** Null when there is none yet. */
  readonly reward: number | null;
  /** The last attempt; null before the first. */
  readonly attempt: string | null;
  /** Attempts that left anything. */
  readonly attempts: number;
  /** Calls of the attempt, and tokens it sent and drew. */
  readonly calls: number;
  readonly prompt_tokens: number;
  readonly sampled_tokens: number;
  readonly error: string | null;
}

/** What the store knows of a rollout. */
export async function rolloutLine(store: Store, rollout: Rollout): Promise<RolloutLine> {
  const { rollout_id: id, is_train: isTrain, status } = rollout;
  const attempts = await store.attempts(id);
  const attempt = status.last_attempt_id ?? attempts.at(-1) ?? null;
  const calls = attempt === null ? [] : await store.calls(id, attempt);
  const rewards = attempt === null ? [] : await store.events(id, attempt, eventTypes.reward);
  const sum = (count: (call: CallRecord) => number): number => calls.reduce((total, call) => total + count(call), 0);
  return {
    rollout: id,
    mode: isTrain ? "train" : "val",
    state: status.state,
    reward: earnedBy(
      rewards,
      calls.map((call) => call.id),
    ).reward,
    attempt,
    attempts: attempts.length,
    calls: calls.length,
    prompt_tokens: sum(({ tokens }) => tokens.promptIds.length),
    sampled_tokens: sum(({ tokens }) => tokens.replyIds.length),
    error: status.error_message,
  };
}

type Column = readonly [title: string, cell: (line: RolloutLine) => string, align: "left" | "right"];

const columns: readonly Column[] = [
  ["rollout", (l) => visibleLine(l.rollout), "left"],
  ["mode", (l) => l.mode, "left"],
  ["state", (l) => l.state, "left"],
  ["reward", (l) => (l.reward === null ? "-" : String(Number(l.reward.toFixed(4)))), "right"],
  ["calls", (l) => String(l.calls), "right"],
  ["prompt", (l) => String(l.prompt_tokens), "right"],
  ["sampled", (l) => String(l.sampled_tokens), "right"],
  [
    "attempt",
    (l) => (l.attempt === null ? "-" : `${visibleLine(l.attempt)}${l.attempts > 1 ? ` (${l.attempts})` : ""}`),
    "left",
  ],
  ["error", (l) => visibleLine((l.error ?? "").replaceAll("\n", " ")), "left"],
];

/** Lines of text for people: titles, one row per rollout, none longer than `width`. */
export function rolloutTable(lines: readonly RolloutLine[], width: number): string[] {
  const rows = [columns.map(([title]) => title), ...lines.map((line) => columns.map(([, cell]) => cell(line)))];
  const widths = columns.map((_, c) => Math.max(...rows.map((row) => (row[c] as string).length)));
  const padded = (text: string, c: number): string => {
    const [, , align] = columns[c] as Column;
    return align === "left" ? text.padEnd(widths[c] as number) : text.padStart(widths[c] as number);
  };
  return rows.map((row) => row.map(padded).join("  ").trimEnd().slice(0, width));
}

/** One sentence about all of them. */
export function rolloutSummary(lines: readonly RolloutLine[]): string {
  const states = new Map<string, number>();
  for (const { state } of lines) states.set(state, (states.get(state) ?? 0) + 1);
  const counts = [...states].map(([state, n]) => `${n} ${state}`).join(", ");
  const rewards = lines.flatMap(({ reward }) => (reward === null ? [] : [reward]));
  const mean = rewards.reduce((a, b) => a + b, 0) / rewards.length;
  const rewarded = rewards.length === 0 ? "no rewards yet" : `mean reward ${mean.toFixed(4)} of ${rewards.length}`;
  return `${counted(lines.length, "rollout")}${counts === "" ? "" : ` (${counts})`}, ${rewarded}.`;
}
