import type { Clock } from "../../src/core/clock.ts";
import { CancelledError } from "../../src/core/errors.ts";

interface Sleeper {
  at: number;
  wake(): void;
}

/** Lets everything that is ready run: promises, and file or process events of a few turns of the event loop. */
export async function settle(turns = 10): Promise<void> {
  for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** Time that only passes when a test says so. */
export class ManualClock implements Clock {
  private time = 1_000_000;
  private readonly sleepers = new Set<Sleeper>();

  now(): number {
    return this.time;
  }

  monotonic(): number {
    return this.time;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(new CancelledError("A wait"));
      const sleeper: Sleeper = { at: this.time + ms, wake: resolve };
      this.sleepers.add(sleeper);
      signal?.addEventListener("abort", () => {
        if (this.sleepers.delete(sleeper)) reject(new CancelledError("A wait"));
      });
    });
  }

  /** How many waits are open. */
  get waiting(): number {
    return this.sleepers.size;
  }

  /** Passes time, waking each sleeper at its moment, in order. */
  async advance(ms: number): Promise<void> {
    const target = this.time + ms;
    await settle();
    for (;;) {
      const due = [...this.sleepers].filter((sleeper) => sleeper.at <= target).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.time = Math.max(this.time, due.at);
      this.sleepers.delete(due);
      due.wake();
      await settle();
    }
    this.time = target;
    await settle();
  }
}
