import type { JSX } from "hono/jsx/dom/jsx-runtime";
import type { SummarySort } from "../../../src/schema/rollout_summary.ts";
import type { StudioLine } from "../../../src/schema/studio_api.ts";
import { momentText, numberText } from "./format.ts";
import { hrefTo } from "./router.ts";
import type { Language, Say, TextKey } from "./texts.ts";

/** What a cell of the rollout table shows: a text, perhaps a place it leads to, a mark, or a share of a bar. */
export interface Cell {
  readonly text: string;
  readonly href?: string;
  readonly className?: string;
  /** Of a bar before the text, from 0 to 1. */
  readonly share?: number;
}

/** A column of the rollout table. */
export interface Column {
  readonly id: string;
  readonly title: TextKey;
  readonly sort?: SummarySort;
  readonly numeric?: boolean;
  cell(line: StudioLine, say: Say, language: Language): Cell;
}

/** A reward's place between 0 and 1, where bars end. */
function shareOf(reward: number | null): number {
  return reward === null ? 0 : Math.max(0, Math.min(1, reward));
}

/** A rollout's state as a mark and a word. */
export function StateMark({ state, say }: { state: StudioLine["state"]; say: Say }): JSX.Element {
  return <span class={`st-state st-state-${state}`}>{say(`state.${state}`)}</span>;
}

/** A reward with a bar for its place between 0 and 1. */
export function RewardMark({ reward, language }: { reward: number | null; language: Language }): JSX.Element {
  return (
    <span class="st-reward">
      <span class="st-reward-bar" aria-hidden="true">
        <span style={{ width: `${Math.round(shareOf(reward) * 100)}%` }} />
      </span>
      <span>{numberText(reward, language, 3)}</span>
    </span>
  );
}

function updateText(line: StudioLine, say: Say): string {
  if (line.mode === "val") return say("mode.val");
  return line.update === null ? "–" : String(line.update);
}

/** The table's columns from left to right. */
export const columns: readonly Column[] = [
  {
    id: "id",
    title: "column.rollout",
    sort: "created",
    cell: ({ id }) => ({ text: id, href: hrefTo(["rollouts", id]) }),
  },
  {
    id: "state",
    title: "column.state",
    sort: "state",
    cell: ({ state }, say) => ({ text: say(`state.${state}`), className: `st-state st-state-${state}` }),
  },
  {
    id: "reward",
    title: "column.reward",
    sort: "reward",
    numeric: true,
    cell: ({ reward }, _, language) => ({ text: numberText(reward, language, 3), share: shareOf(reward) }),
  },
  { id: "task", title: "column.task", sort: "task", cell: ({ task }) => ({ text: task || "–" }) },
  {
    id: "group",
    title: "column.group",
    sort: "group",
    cell: ({ group }) => (group === "" ? { text: "–" } : { text: group, href: hrefTo(["groups", group]) }),
  },
  { id: "update", title: "column.update", numeric: true, cell: (line, say) => ({ text: updateText(line, say) }) },
  { id: "agents", title: "column.model", cell: ({ agents }) => ({ text: agents.join(", ") || "–" }) },
  {
    id: "calls",
    title: "column.calls",
    sort: "calls",
    numeric: true,
    cell: ({ calls }, _, language) => ({ text: numberText(calls, language) }),
  },
  {
    id: "tokens",
    title: "column.tokens",
    sort: "tokens",
    numeric: true,
    cell: ({ sampledTokens }, _, language) => ({ text: numberText(sampledTokens, language) }),
  },
  {
    id: "breaks",
    title: "column.breaks",
    sort: "breaks",
    numeric: true,
    cell: ({ breaks }) => ({ text: String(breaks), className: breaks === 0 ? "" : "st-warn" }),
  },
  {
    id: "updated",
    title: "column.changed",
    sort: "updated",
    cell: ({ updatedAt }, _, language) => ({ text: momentText(updatedAt, language) }),
  },
];
