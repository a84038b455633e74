import type { StudioLine, StudioPage } from "../../../src/schema/studio_api.ts";

/** Lines fetched at once. */
export const pageSize = 100;

/** Pages kept: some thousands of lines around what is looked at. */
const keptPages = 40;

/** Pages of a table whose lines are fetched as they come into sight. */
export class PageCache {
  /** Lines of the whole table; null until the first page is there. */
  total: number | null = null;
  agents: readonly string[] = [];
  private readonly load: (offset: number, limit: number) => Promise<StudioPage>;
  private readonly told: (error: unknown) => void;
  private pages = new Map<number, readonly StudioLine[]>();
  private readonly asked = new Set<number>();
  private closed = false;

  /** `told` is called when something came, or could not be fetched. */
  constructor(load: (offset: number, limit: number) => Promise<StudioPage>, told: (error: unknown) => void) {
    this.load = load;
    this.told = told;
  }

  /** The line at an index; undefined while it is not there. */
  line(index: number): StudioLine | undefined {
    return this.pages.get(Math.floor(index / pageSize))?.[index % pageSize];
  }

  /** Fetches what is missing of lines [from, to). */
  want(from: number, to: number): void {
    for (let page = Math.floor(from / pageSize); page * pageSize < to; page++) {
      if (!this.pages.has(page)) void this.fetch(page);
    }
  }

  /** Fetches lines [from, to) again, keeping what is there until then; all others are forgotten. */
  refresh(from: number, to: number): void {
    const first = Math.floor(from / pageSize);
    const last = Math.max(first, Math.ceil(to / pageSize) - 1);
    for (const page of [...this.pages.keys()]) if (page < first || page > last) this.pages.delete(page);
    for (let page = first; page <= last; page++) void this.fetch(page);
  }

  close(): void {
    this.closed = true;
  }

  private async fetch(page: number): Promise<void> {
    if (this.asked.has(page)) return;
    this.asked.add(page);
    try {
      const found = await this.load(page * pageSize, pageSize);
      if (this.closed) return;
      this.total = found.total;
      this.agents = found.agents;
      this.pages.delete(page);
      this.pages.set(page, found.rows);
      for (const oldest of [...this.pages.keys()].slice(0, -keptPages)) this.pages.delete(oldest);
      this.told(null);
    } catch (thrown) {
      if (!this.closed) this.told(thrown);
    } finally {
      this.asked.delete(page);
    }
  }
}
