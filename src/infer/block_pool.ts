import { LeydenError } from "../core/errors.ts";

/** The prefix a page ends: page id and a number that stands for "these tokens under these weights". */
export interface CachedPage {
  readonly page: number;
  readonly node: number;
}

/** Stands for no prefix at all: nothing can be found or published under it. */
export const noNode = 0;

/**
 * Book-keeping of the paged key-value cache. Pages are counted by their users. A full page can be found again by what
 * its content depends on, the weights and the chain of all tokens up to its end: its key is (node of the page before it,
 * its tokens), and the node before the first page stands for the weights.
 * Unused cached pages are evicted least recently used first. Pure: the pages themselves live on the device.
 */
export class BlockPool {
  readonly pageCount: number;
  private readonly users: Int32Array;
  private readonly free: number[];
  /** Cached pages by key. */
  private readonly byKey = new Map<string, CachedPage>();
  private readonly keyOf = new Map<number, string>();
  /** Cached pages without a user, the one whose last user left first in front. */
  private readonly idle = new Set<number>();
  private readonly roots = new Map<string, number>();
  private lastNode = noNode;

  constructor(pageCount: number) {
    this.pageCount = pageCount;
    this.users = new Int32Array(pageCount);
    this.free = Array.from({ length: pageCount }, (_, i) => pageCount - 1 - i);
  }

  /** Pages that can be handed out now: free ones, and cached ones without a user. */
  get available(): number {
    return this.free.length + this.idle.size;
  }

  /** Pages with at least one user. */
  get used(): number {
    return this.pageCount - this.available;
  }

  /** Takes a page with one user, evicting an unused cached one if need be; null when all are in use. */
  take(): number | null {
    const page = this.free.pop() ?? this.evict();
    if (page === null) return null;
    this.users[page] = 1;
    return page;
  }

  /** The empty prefix under some weights: a policy version, and the adapter on top of it (empty for none). */
  root(version: number, adapter: string): number {
    const key = `${version}/${adapter}`;
    const node = this.roots.get(key) ?? ++this.lastNode;
    this.roots.set(key, node);
    return node;
  }

  /** Adds a user to the cached page that follows `parent` with exactly `tokens`; null when there is none. */
  share(parent: number, tokens: Int32Array): CachedPage | null {
    const key = pageKey(parent, tokens);
    const found = this.byKey.get(key);
    if (found === undefined) return null;
    this.idle.delete(found.page);
    this.users[found.page] = (this.users[found.page] as number) + 1;
    return found;
  }

  /**
   * Makes a full page findable as the continuation of `parent` by `tokens`. Returns the node that stands for the whole
   * prefix; when an equal page is cached already its node is returned and this page stays private. A page is published
   * once: its content never changes while it has users.
   */
  publish(page: number, parent: number, tokens: Int32Array): number {
    const key = this.keyOf.get(page) ?? pageKey(parent, tokens);
    const found = this.byKey.get(key);
    if (found !== undefined) return found.node;
    const node = ++this.lastNode;
    this.byKey.set(key, { page, node });
    this.keyOf.set(page, key);
    return node;
  }

  /** Removes one user. @throws LeydenError "kv_accounting" when the page has none. */
  release(page: number): void {
    const users = (this.users[page] as number) - 1;
    if (users < 0) {
      throw new LeydenError("kv_accounting", `Page ${page} was released more often than it was taken.`, {
        do: "This is a fault in Leyden: report it with the requests that showed it.",
      });
    }
    this.users[page] = users;
    if (users > 0) return;
    if (this.keyOf.has(page)) this.idle.add(page);
    else this.free.push(page);
  }

  /** Forgets every cached prefix; pages in use stay with their users. Called when the weights change. */
  clearCache(): void {
    for (const { page } of this.byKey.values()) {
      this.keyOf.delete(page);
      if (this.users[page] === 0) this.free.push(page);
    }
    this.byKey.clear();
    this.roots.clear();
    this.idle.clear();
  }

  private evict(): number | null {
    const [page] = this.idle;
    if (page === undefined) return null;
    this.idle.delete(page);
    this.byKey.delete(this.keyOf.get(page) as string);
    this.keyOf.delete(page);
    return page;
  }
}

function pageKey(parent: number, tokens: Int32Array): string {
  return `${parent}/${tokens.join(",")}`;
}
