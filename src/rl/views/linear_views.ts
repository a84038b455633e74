import { ConfigError } from "../../core/errors.ts";
import type { Call } from "../call.ts";
import { extendRow, isContextOf, type LinearRow, rowLength, rowOfCall } from "./linear_row.ts";

/** Rows of one rollout's calls, and how many calls could not continue a row and so began another. */
export interface LinearView {
  rows: LinearRow[];
  mismatches: number;
}

/** Ways to lay calls out as rows. */
export const linearViewNames = ["trajectory", "transition", "rows_best_prefix"] as const;

/** A way of `linearViewNames`. */
export type LinearViewName = (typeof linearViewNames)[number];

/**
 * Agent Lightning's trajectory level: a call continues the current row iff its prompt starts with the row's whole
 * context; only the latest row can be continued, so interleaved chats break each other.
 * Source: Agent Lightning 1.0, trace aggregation.
 */
function trajectory(calls: readonly Call[]): LinearView {
  const rows: LinearRow[] = [];
  let mismatches = 0;
  for (const call of calls) {
    const current = rows.at(-1);
    if (current !== undefined && isContextOf(current, call.promptIds)) {
      extendRow(current, call);
      continue;
    }
    if (current !== undefined) mismatches++;
    rows.push(rowOfCall(call));
  }
  return { rows, mismatches };
}

/** Agent Lightning's transition level: every call is a row. */
function transition(calls: readonly Call[]): LinearView {
  return { rows: calls.map(rowOfCall), mismatches: 0 };
}

/**
 * Longest-prefix rows: a call continues the open row with the longest context that its prompt starts with, whichever
 * row that is, so interleaved chats each stay one row. Of equal contexts the earlier row is taken.
 */
function bestPrefix(calls: readonly Call[]): LinearView {
  const rows: LinearRow[] = [];
  for (const call of calls) {
    let best: LinearRow | null = null;
    for (const row of rows) {
      if ((best === null || rowLength(row) > rowLength(best)) && isContextOf(row, call.promptIds)) best = row;
    }
    if (best === null) rows.push(rowOfCall(call));
    else extendRow(best, call);
  }
  return { rows, mismatches: Math.max(0, rows.length - 1) };
}

/** Every linear view, by name. */
const views: { readonly [Name in LinearViewName]: (calls: readonly Call[]) => LinearView } = {
  trajectory,
  transition,
  rows_best_prefix: bestPrefix,
};

/**
 * Rows of one rollout from its usable calls in order; calls without a reply are ignored.
 * @throws ConfigError on an unknown view.
 */
export function linearView(name: LinearViewName, calls: readonly Call[]): LinearView {
  if (!linearViewNames.includes(name)) {
    throw new ConfigError(`There is no view "${String(name)}" of a rollout's calls.`, {
      do: `Use trie or one of ${linearViewNames.join(", ")}.`,
    });
  }
  return views[name](calls.filter((call) => call.replyIds.length > 0));
}
