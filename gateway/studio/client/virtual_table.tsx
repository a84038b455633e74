import { useEffect, useRef } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import type { StudioLine } from "../../../src/schema/studio_api.ts";
import type { TableFilters } from "./api.ts";
import { useStudio } from "./context.ts";
import type { PageCache } from "./page_cache.ts";
import { type Column, columns } from "./rollout_columns.tsx";
import { goTo, hrefTo } from "./router.ts";
import { RowPool, rowHeight } from "./row_pool.ts";

/** Rows made above and below what is in sight. */
const margin = 12;
/** Tallest a browser lays out; far more rows than that are scrolled to by keys. */
const tallest = 12_000_000;

export interface VirtualTableProps {
  readonly cache: PageCache;
  readonly filters: TableFilters;
  change(filters: Partial<TableFilters>): void;
}

/** A grid of any number of rows, of which only those in sight exist. One row takes the focus; arrow keys move it. */
export function VirtualTable({ cache, filters, change }: VirtualTableProps): JSX.Element {
  const { say, language, feed } = useStudio();
  const frame = useRef<HTMLDivElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const pool = useRef<RowPool | null>(null);
  const active = useRef(0);
  const total = cache.total ?? 0;
  const look = (): void => {
    if (frame.current === null || body.current === null) return;
    pool.current ??= new RowPool(body.current, say, language);
    const { from, to } = sightOf(frame.current);
    const end = Math.min(to, cache.total ?? 0);
    cache.want(from, Math.min(to, cache.total ?? 1));
    pool.current.show(from, end, active.current ?? 0, (index) => cache.line(index));
  };
  // With every line that came: what is shown follows what is known.
  useEffect(look);
  useEffect(
    () =>
      feed.subscribe(() => {
        if (frame.current !== null) cache.refresh(...pairOf(sightOf(frame.current)));
      }),
    [cache],
  );
  const activate = (index: number): void => {
    active.current = Math.max(0, Math.min(total - 1, index));
  };
  const move = (to: number): void => {
    activate(to);
    keepInSight(frame.current, active.current ?? 0);
    look();
    pool.current?.focus(active.current ?? 0);
  };
  const focused = (event: FocusEvent): void => {
    const row = (event.target as HTMLElement).closest("[role=row]")?.getAttribute("aria-rowindex");
    if (row !== null && row !== undefined && row !== "1") activate(Number(row) - 2);
  };
  return (
    <div
      ref={frame}
      class="st-grid-frame"
      role="grid"
      aria-label={say("rollouts.table")}
      aria-rowcount={total + 1}
      onScroll={look}
      onFocusin={focused}
      onDblClick={() => openLine(cache.line(active.current ?? 0))}
      onKeyDown={(event: KeyboardEvent) => onKey(event, active.current ?? 0, frame.current, move, cache)}
    >
      <Head filters={filters} change={change} />
      <div
        ref={body}
        class="st-grid-body"
        role="rowgroup"
        style={{ height: `${Math.min(tallest, total * rowHeight)}px` }}
      />
    </div>
  );
}

/** Rows in sight of a frame, and some around them. */
function sightOf(frame: HTMLElement): { from: number; to: number } {
  const from = Math.max(0, Math.floor(frame.scrollTop / rowHeight) - margin);
  return { from, to: Math.ceil((frame.scrollTop + frame.clientHeight) / rowHeight) + margin };
}

function pairOf({ from, to }: { from: number; to: number }): [number, number] {
  return [from, to];
}

function openLine(line: StudioLine | undefined): void {
  if (line !== undefined) goTo(hrefTo(["rollouts", line.id]));
}

function keepInSight(frame: HTMLElement | null, index: number): void {
  if (frame === null) return;
  const top = index * rowHeight;
  const space = frame.clientHeight - 2 * rowHeight;
  if (top < frame.scrollTop) frame.scrollTop = top;
  else if (top > frame.scrollTop + space) frame.scrollTop = top - space;
}

function onKey(
  event: KeyboardEvent,
  active: number,
  frame: HTMLElement | null,
  move: (to: number) => void,
  cache: PageCache,
): void {
  if ((event.target as HTMLElement).closest("[role=row]")?.getAttribute("aria-rowindex") === "1") return;
  const page = Math.max(1, Math.floor((frame?.clientHeight ?? 0) / rowHeight) - 2);
  const targets: Readonly<Record<string, number>> = {
    ArrowDown: active + 1,
    ArrowUp: active - 1,
    PageDown: active + page,
    PageUp: active - page,
    Home: 0,
    End: (cache.total ?? 1) - 1,
  };
  const to = targets[event.key];
  if (to === undefined && event.key !== "Enter") return;
  event.preventDefault();
  if (to === undefined) openLine(cache.line(active));
  else move(to);
}

function Head({ filters, change }: Pick<VirtualTableProps, "filters" | "change">): JSX.Element {
  return (
    <div class="st-grid-head" role="rowgroup">
      <div class="st-row st-row-head" role="row" aria-rowindex={1}>
        {columns.map((column) => (
          <HeadCell key={column.id} column={column} filters={filters} change={change} />
        ))}
      </div>
    </div>
  );
}

function HeadCell({
  column,
  filters,
  change,
}: { column: Column } & Pick<VirtualTableProps, "filters" | "change">): JSX.Element {
  const { say } = useStudio();
  const { id, sort, title, numeric } = column;
  const isSorted = sort !== undefined && filters.sort === sort;
  const descending = filters.order === "desc";
  const style = `st-cell st-cell-${id}${numeric ? " st-numeric" : ""}`;
  if (sort === undefined) {
    return (
      <div class={style} role="columnheader">
        {say(title)}
      </div>
    );
  }
  return (
    <div class={style} role="columnheader" aria-sort={isSorted ? (descending ? "descending" : "ascending") : "none"}>
      <button
        type="button"
        class="st-sort"
        onClick={() => change({ sort, order: isSorted && descending ? "asc" : "desc" })}
      >
        {say(title)}
        <span aria-hidden="true">{isSorted ? (descending ? " ↓" : " ↑") : ""}</span>
      </button>
    </div>
  );
}
