import { useEffect, useRef, useState } from "hono/jsx/dom";
import type { JSX } from "hono/jsx/dom/jsx-runtime";
import type { StudioLine } from "../../../src/schema/studio_api.ts";
import type { TableFilters } from "./api.ts";
import { useStudio } from "./context.ts";
import type { PageCache } from "./page_cache.ts";
import { type Column, columns } from "./rollout_columns.tsx";
import { goTo, hrefTo } from "./router.ts";

/** Height of a row in pixels, as the style sheet has it. */
const rowHeight = 32;
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
  const { say, feed } = useStudio();
  const frame = useRef<HTMLDivElement>(null);
  const [sight, setSight] = useState({ from: 0, to: 40 });
  const [active, setActive] = useState(0);
  const focusWanted = useRef(false);
  const total = cache.total ?? 0;
  const look = (): void => {
    const root = frame.current;
    if (root === null) return;
    const from = Math.max(0, Math.floor(root.scrollTop / rowHeight) - margin);
    const to = Math.ceil((root.scrollTop + root.clientHeight) / rowHeight) + margin;
    setSight((before) => (before.from === from && before.to === to ? before : { from, to }));
    cache.want(from, Math.min(to, cache.total ?? 1));
  };
  useEffect(look, [total, cache]);
  useEffect(() => feed.subscribe(() => cache.refresh(sight.from, sight.to)), [cache, sight]);
  useEffect(() => {
    if (!focusWanted.current) return;
    focusWanted.current = false;
    frame.current?.querySelector<HTMLElement>(`[aria-rowindex="${active + 2}"]`)?.focus({ preventScroll: true });
  });
  const move = (to: number): void => {
    const next = Math.max(0, Math.min(total - 1, to));
    focusWanted.current = true;
    setActive(next);
    keepInSight(frame.current, next);
    look();
  };
  const rows: JSX.Element[] = [];
  for (let i = sight.from; i < Math.min(total, sight.to); i++) {
    rows.push(<Row key={i} index={i} line={cache.line(i)} isActive={i === active} onFocus={() => setActive(i)} />);
  }
  return (
    <div
      ref={frame}
      class="st-grid-frame"
      role="grid"
      aria-label={say("rollouts.table")}
      aria-rowcount={total + 1}
      onScroll={look}
      onKeyDown={(event: KeyboardEvent) => onKey(event, active, frame.current, move, cache)}
    >
      <Head filters={filters} change={change} />
      <div class="st-grid-body" role="rowgroup" style={{ height: `${Math.min(tallest, total * rowHeight)}px` }}>
        {rows}
      </div>
    </div>
  );
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
  const line = cache.line(active);
  if (to !== undefined) {
    event.preventDefault();
    move(to);
  } else if (event.key === "Enter" && line !== undefined) {
    event.preventDefault();
    goTo(hrefTo(["rollouts", line.id]));
  }
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

interface RowProps {
  readonly index: number;
  readonly line: StudioLine | undefined;
  readonly isActive: boolean;
  onFocus(): void;
}

function Row({ index, line, isActive, onFocus }: RowProps): JSX.Element {
  const { say, language } = useStudio();
  return (
    <div
      class={`st-row st-row-line${index % 2 === 1 ? " st-row-odd" : ""}`}
      role="row"
      aria-rowindex={index + 2}
      tabIndex={isActive ? 0 : -1}
      style={{ transform: `translateY(${index * rowHeight}px)` }}
      onFocus={onFocus}
      onDblClick={() => line && goTo(hrefTo(["rollouts", line.id]))}
    >
      {columns.map((column) => (
        <div
          key={column.id}
          class={`st-cell st-cell-${column.id}${column.numeric ? " st-numeric" : ""}`}
          role="gridcell"
        >
          {line === undefined ? (column.id === "id" ? "…" : "") : column.cell(line, say, language)}
        </div>
      ))}
    </div>
  );
}
