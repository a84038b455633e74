import type { StudioLine } from "../../../src/schema/studio_api.ts";
import { type Cell, columns } from "./rollout_columns.tsx";
import type { Language, Say } from "./texts.ts";

/** Height of a row in pixels, as the style sheet has it. */
export const rowHeight = 32;

/** The parts of a cell that change with what it shows. */
interface CellParts {
  readonly text: HTMLElement;
  readonly link: HTMLAnchorElement;
  readonly bar: HTMLElement;
  readonly fill: HTMLElement;
}

interface RowParts {
  readonly element: HTMLElement;
  readonly cells: readonly CellParts[];
  shown: StudioLine | null | undefined;
}

function made(className: string, role?: string): HTMLElement {
  const element = document.createElement("span");
  element.className = className;
  if (role !== undefined) element.setAttribute("role", role);
  return element;
}

function newCell(row: HTMLElement, id: string, numeric: boolean): CellParts {
  const cell = made(`st-cell st-cell-${id}${numeric ? " st-numeric" : ""}`, "gridcell");
  const bar = made("st-reward-bar");
  bar.setAttribute("aria-hidden", "true");
  const fill = bar.appendChild(made(""));
  const text = made("");
  const link = document.createElement("a");
  link.tabIndex = -1;
  cell.append(bar, link, text);
  row.append(cell);
  return { text, link, bar, fill };
}

function fillCell({ text, link, bar, fill }: CellParts, { text: words, href, className, share }: Cell): void {
  bar.hidden = share === undefined;
  if (share !== undefined) fill.style.width = `${Math.round(share * 100)}%`;
  link.hidden = href === undefined;
  text.hidden = href !== undefined;
  if (href === undefined) {
    text.textContent = words;
    text.className = className ?? "";
  } else {
    link.textContent = words;
    link.href = href;
  }
}

/**
 * The rows in sight. They are made once and filled again and again: what scrolling takes must not grow with the table,
 * nor with what stands in a row.
 */
export class RowPool {
  private readonly body: HTMLElement;
  private readonly say: Say;
  private readonly language: Language;
  private readonly rows: RowParts[] = [];
  private from = 0;

  constructor(body: HTMLElement, say: Say, language: Language) {
    this.body = body;
    this.say = say;
    this.language = language;
  }

  /** Shows rows [from, to); `active` is the one that takes the focus. */
  show(from: number, to: number, active: number, lineAt: (index: number) => StudioLine | undefined): void {
    const count = Math.max(0, to - from);
    while (this.rows.length < count) this.rows.push(this.newRow());
    for (const row of this.rows.splice(count)) row.element.remove();
    const moved = from !== this.from;
    this.from = from;
    for (const [k, row] of this.rows.entries()) {
      const index = from + k;
      row.element.tabIndex = index === active ? 0 : -1;
      if (moved || row.shown === null) this.place(row.element, index);
      const line = lineAt(index);
      if (line !== row.shown) this.fill(row, line);
    }
  }

  /** Puts the focus on a row in sight. */
  focus(index: number): void {
    this.rows[index - this.from]?.element.focus({ preventScroll: true });
  }

  private newRow(): RowParts {
    const element = made("st-row st-row-line", "row");
    const cells = columns.map(({ id, numeric }) => newCell(element, id, numeric === true));
    this.body.append(element);
    return { element, cells, shown: null };
  }

  private place(element: HTMLElement, index: number): void {
    element.setAttribute("aria-rowindex", String(index + 2));
    element.classList.toggle("st-row-odd", index % 2 === 1);
    element.style.transform = `translateY(${index * rowHeight}px)`;
  }

  private fill(row: RowParts, line: StudioLine | undefined): void {
    row.shown = line;
    columns.forEach((column, i) => {
      const parts = row.cells[i];
      if (parts !== undefined)
        fillCell(parts, line === undefined ? { text: "…" } : column.cell(line, this.say, this.language));
    });
  }
}
