import type { JSX } from "hono/jsx/dom/jsx-runtime";
import type { SummarySort } from "../../../src/schema/rollout_summary.ts";
import type { StudioLine } from "../../../src/schema/studio_api.ts";
import { momentText, numberText } from "./format.ts";
import { hrefTo } from "./router.ts";
import type { Language, Say, TextKey } from "./texts.ts";

/** A column of the rollout table. */
export interface Column {
  readonly id: string;
  readonly title: TextKey;
  readonly sort?: SummarySort;
  readonly numeric?: boolean;
  cell(line: StudioLine, say: Say, language: Language): JSX.Element | string;
}

const stateText = {
  queuing: "state.queuing",
  running: "state.running",
  succeeded: "state.succeeded",
  failed: "state.failed",
} as const;

/** A rollout's state as a mark and a word. */
export function StateMark({ state, say }: { state: StudioLine["state"]; say: Say }): JSX.Element {
  return <span class={`st-state st-state-${state}`}>{say(stateText[state])}</span>;
}

/** A reward with a bar for its place between 0 and 1. */
export function RewardMark({ reward, language }: { reward: number | null; language: Language }): JSX.Element {
  const share = reward === null ? 0 : Math.max(0, Math.min(1, reward));
  return (
    <span class="st-reward">
      <span class="st-reward-bar" aria-hidden="true">
        <span style={{ width: `${Math.round(share * 100)}%` }} />
      </span>
      <span>{numberText(reward, language, 3)}</span>
    </span>
  );
}

/** The table's columns from left to right. */
export const columns: readonly Column[] = [
  {
    id: "id",
    title: "column.rollout",
    sort: "created",
    cell: (line) => (
      <a href={hrefTo(["rollouts", line.id])} tabIndex={-1}>
        {line.id}
      </a>
    ),
  },
  {
    id: "state",
    title: "column.state",
    sort: "state",
    cell: (line, say) => <StateMark state={line.state} say={say} />,
  },
  {
    id: "reward",
    title: "column.reward",
    sort: "reward",
    numeric: true,
    cell: (line, _, language) => <RewardMark reward={line.reward} language={language} />,
  },
  { id: "task", title: "column.task", sort: "task", cell: (line) => line.task || "–" },
  {
    id: "group",
    title: "column.group",
    sort: "group",
    cell: (line) =>
      line.group === "" ? (
        "–"
      ) : (
        <a href={hrefTo(["groups", line.group])} tabIndex={-1}>
          {line.group}
        </a>
      ),
  },
  {
    id: "update",
    title: "column.update",
    numeric: true,
    cell: (line, say) => (line.mode === "val" ? say("mode.val") : line.update === null ? "–" : String(line.update)),
  },
  { id: "agents", title: "column.agents", cell: (line) => line.agents.join(", ") || "–" },
  {
    id: "calls",
    title: "column.calls",
    sort: "calls",
    numeric: true,
    cell: (line, _, language) => numberText(line.calls, language),
  },
  {
    id: "tokens",
    title: "column.tokens",
    sort: "tokens",
    numeric: true,
    cell: (line, _, language) => numberText(line.sampledTokens, language),
  },
  {
    id: "breaks",
    title: "column.breaks",
    sort: "breaks",
    numeric: true,
    cell: (line) => (line.breaks === 0 ? "0" : <span class="st-warn">{String(line.breaks)}</span>),
  },
  {
    id: "updated",
    title: "column.changed",
    sort: "updated",
    cell: (line, _, language) => momentText(line.updatedAt, language),
  },
];
