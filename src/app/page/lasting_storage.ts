import { isAtWork } from "../../schema/run_control.ts";
import type { TabEvent, TabHost } from "../tab/tab_host.ts";

/** What of a browser's storage is used; older ones lack some of it, whatever the types say. */
export type BrowserStorage = Partial<Pick<StorageManager, "persist" | "persisted" | "estimate">> | undefined;

/** How a browser keeps what this page stores. */
export interface StorageFacts {
  /** It deletes nothing by itself; null where it does not say. */
  readonly isLasting: boolean | null;
  /** Null where it does not say. */
  readonly usedBytes: number | null;
  readonly quotaBytes: number | null;
}

/** Storage that a browser would clear when its disk gets full, unless it was asked not to. */
export class LastingStorage {
  private readonly storage: BrowserStorage;
  private asked: Promise<void> | null = null;

  constructor(storage: BrowserStorage) {
    this.storage = storage;
  }

  /** Asks the browser to delete nothing by itself; once, since some of them ask the person. It may refuse. */
  ask(): Promise<void> {
    this.asked ??= this.persist();
    return this.asked;
  }

  private async persist(): Promise<void> {
    try {
      if ((await this.storage?.persisted?.()) !== true) await this.storage?.persist?.();
    } catch {
      // A page from a disk has no storage to keep.
    }
  }
}

/** What a browser says of its storage. */
export async function storageFacts(storage: BrowserStorage): Promise<StorageFacts> {
  try {
    const [isLasting, estimate] = await Promise.all([storage?.persisted?.(), storage?.estimate?.()]);
    return {
      isLasting: isLasting ?? null,
      usedBytes: estimate?.usage ?? null,
      quotaBytes: estimate?.quota ?? null,
    };
  } catch {
    return { isLasting: null, usedBytes: null, quotaBytes: null };
  }
}

/** The storage of this page's browser. */
export function browserStorage(): BrowserStorage {
  return (navigator as { storage?: StorageManager }).storage;
}

/** Has the browser keep what the tab stores, from its first run or import on: nobody is asked before there is something to keep. */
export function keepStored(tab: Pick<TabHost, "status" | "onEvent">, storage: BrowserStorage = browserStorage()): void {
  const lasting = new LastingStorage(storage);
  const follow = (event?: TabEvent): void => {
    if (event?.kind === "imported" || isAtWork(tab.status.phase)) void lasting.ask();
  };
  tab.onEvent(follow);
  follow();
}
