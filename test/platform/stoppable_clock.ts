import type { Clock } from "../../src/core/clock.ts";
import { CancelledError } from "../../src/core/errors.ts";

/** Lets everything run that is ready. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The time of a thread that a test lets run, freezes, or puts to sleep with its computer. */
export class StoppableClock implements Clock {
  private ms = 0;
  private wall = 1_000_000;
  private readonly sleepers = new Set<{ readonly at: number; wake(): void }>();

  now = (): number => this.wall;
  monotonic = (): number => this.ms;

  sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const sleeper = { at: this.ms + ms, wake: resolve };
      this.sleepers.add(sleeper);
      const cancel = (): void => {
        this.sleepers.delete(sleeper);
        reject(new CancelledError("A wait"));
      };
      if (signal?.aborted) cancel();
      else signal?.addEventListener("abort", cancel);
    });

  /** Time passes, and whoever waits is woken at their moment. */
  async run(ms: number): Promise<void> {
    const end = this.ms + ms;
    await settle();
    for (let next = this.due(end); next !== null; next = this.due(end)) {
      this.pass(Math.max(0, next.at - this.ms));
      this.sleepers.delete(next);
      next.wake();
      await settle();
    }
    this.pass(end - this.ms);
  }

  /** Time passes, and nobody is woken before it has; all who are late are then woken in turn. */
  async freeze(ms: number): Promise<void> {
    this.pass(ms);
    await this.run(0);
  }

  /** The time of the world goes on alone, as it does on systems whose timers sleep with the computer. */
  sleepComputer(ms: number): void {
    this.wall += ms;
  }

  private pass(ms: number): void {
    this.ms += ms;
    this.wall += ms;
  }

  private due(end: number): { readonly at: number; wake(): void } | null {
    const [first = null] = [...this.sleepers].sort((a, b) => a.at - b.at);
    return first !== null && first.at <= end ? first : null;
  }
}
