import { isAtWork } from "../../schema/run_control.ts";
import type { TabHost } from "../tab/tab_host.ts";

/** What of the browser is used: a page's way to keep its screen on, where there is one, and what is shown. */
export interface WakeLockPage {
  readonly wakeLock: WakeLock | undefined;
  readonly document: Pick<Document, "addEventListener" | "removeEventListener" | "visibilityState">;
}

/**
 * A screen that stays on, so that the computer does not fall asleep over a run. A browser takes it back when the page is
 * hidden; then it is asked for again as soon as the page is looked at.
 */
export class ScreenWakeLock {
  private readonly page: WakeLockPage;
  private isWanted = false;
  private isAsking = false;
  private held: WakeLockSentinel | null = null;

  constructor(page: WakeLockPage) {
    this.page = page;
    page.document.addEventListener("visibilitychange", this.settle);
  }

  /** Takes it, or gives it back. A browser that refuses, as with an empty battery, lets the run go on all the same. */
  want(isWanted: boolean): void {
    this.isWanted = isWanted;
    void this.settle();
  }

  /** Gives it back for good. */
  close(): void {
    this.page.document.removeEventListener("visibilitychange", this.settle);
    this.want(false);
  }

  private readonly settle = async (): Promise<void> => {
    // Whoever asks at the moment looks again afterwards.
    if (this.isAsking) return;
    this.isAsking = true;
    try {
      while (this.isDue()) await (this.held === null ? this.take() : this.giveBack(this.held));
    } catch {
      // Refused: the next change asks again.
    } finally {
      this.isAsking = false;
    }
  };

  private isDue(): boolean {
    if (this.held !== null) return !this.isWanted;
    return this.isWanted && this.page.wakeLock !== undefined && this.page.document.visibilityState === "visible";
  }

  private async take(): Promise<void> {
    const taken = (await this.page.wakeLock?.request("screen")) ?? null;
    this.held = taken;
    taken?.addEventListener("release", () => {
      if (this.held === taken) this.held = null;
    });
  }

  private async giveBack(held: WakeLockSentinel): Promise<void> {
    this.held = null;
    await held.release();
  }
}

/** Keeps the screen on for as long as the tab's run is at work. */
export function keepScreenOn(tab: TabHost): void {
  // Some browsers have no such thing, whatever the types say.
  const { wakeLock } = navigator as { wakeLock?: WakeLock };
  const lock = new ScreenWakeLock({ wakeLock, document });
  const follow = (): void => lock.want(isAtWork(tab.status.phase));
  tab.onEvent(follow);
  follow();
}
