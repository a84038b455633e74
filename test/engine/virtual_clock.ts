import type { Clock } from "../../src/core/clock.ts";

/** A clock that moves when it is told to: work costs it time, and when nothing is left to do it jumps to the next sleeper. */
export class VirtualClock implements Clock {
  private ms = 0;
  private readonly sleepers: { readonly at: number; readonly wake: () => void }[] = [];

  now = (): number => this.ms;
  monotonic = (): number => this.ms;

  sleep = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const at = this.ms + ms;
      const place = this.sleepers.findIndex((s) => s.at > at);
      this.sleepers.splice(place < 0 ? this.sleepers.length : place, 0, { at, wake: resolve });
    });

  /** Lets `ms` pass, and wakes whoever slept no longer. */
  spend(ms: number): void {
    this.ms += ms;
    while (this.sleepers[0] !== undefined && this.sleepers[0].at <= this.ms) this.sleepers.shift()?.wake();
  }

  /** Jumps to the next sleeper's time; false when nobody sleeps. */
  jump(): boolean {
    const next = this.sleepers[0];
    if (next === undefined) return false;
    this.spend(Math.max(0, next.at - this.ms));
    return true;
  }

  /** Runs `work` to its end: whenever it stands still, the clock jumps. */
  async drive<T>(work: Promise<T>): Promise<T> {
    let ended = false;
    const end = work.finally(() => {
      ended = true;
    });
    end.catch(() => undefined);
    for (let idle = 0; !ended && idle < 3; ) {
      // Everything under way runs in microtasks, which come before this.
      await new Promise((resolve) => setImmediate(resolve));
      idle = ended || this.jump() ? 0 : idle + 1;
    }
    if (!ended) throw new Error("Everybody waits and nobody sleeps.");
    return end;
  }
}
