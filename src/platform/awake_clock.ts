import type { Clock } from "../core/clock.ts";
import { systemClock } from "./clock.ts";

/** Between two looks at the time, in milliseconds. */
const beatMs = 1_000;
/** A look that comes later than this says that the thread stood still: a busy one is hardly ever busy for so long. */
const stillMs = 5_000;
/** Timers of a browser take no longer ones than 2^31 - 1 ms. */
const longestWaitMs = 3_600_000;
/** Standstills that are remembered, the last ones: of a page that is frozen every minute, those of half a day. */
const remembered = 720;

/**
 * The time of a thread that may be stopped from outside: a browser freezes a page that nobody looks at, with all its
 * workers, and a computer sleeps. Waits and durations leave out what the thread stood still, as those of a process leave
 * out the sleep of its computer; `now` is the time of the world. Its functions need no `this`.
 */
export class AwakeClock implements Clock {
  private readonly base: Clock;
  private readonly told = new Set<(ms: number) => void>();
  private isBeating = false;
  private seenMs: number;
  private seenAt: number;
  /** What was left out so far. */
  private leftOutMs = 0;
  /** From when to when in the time of the world, oldest first. */
  private readonly standstills: { readonly from: number; readonly to: number }[] = [];

  constructor(base: Clock) {
    this.base = base;
    this.seenMs = base.monotonic();
    this.seenAt = base.now();
  }

  readonly now = (): number => this.base.now();

  readonly monotonic = (): number => {
    if (!this.isBeating) void this.beat();
    return this.look();
  };

  readonly sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
    const end = this.monotonic() + ms;
    let rest = ms;
    do {
      await this.base.sleep(Math.min(rest, longestWaitMs), signal);
      rest = end - this.look();
      // Timers are a fraction of a millisecond early at times.
    } while (rest >= 1);
  };

  /** Calls `told` with the milliseconds of each standstill once it is over, until the returned function is called. */
  readonly onStandstill = (told: (ms: number) => void): (() => void) => {
    if (!this.isBeating) void this.beat();
    this.told.add(told);
    return () => this.told.delete(told);
  };

  readonly stoodStill = (from: number, to: number): number => {
    this.monotonic();
    const parts = this.standstills.map((still) => Math.min(to, still.to) - Math.max(from, still.from));
    return parts.reduce((sum, ms) => sum + Math.max(0, ms), 0);
  };

  /** What passes between two looks counts for one beat at most, so that a wait ends even where every beat comes late. */
  private look(): number {
    const [ms, at] = [this.base.monotonic(), this.base.now()];
    const passed = ms - this.seenMs;
    // A sleeping computer's monotonic time stands still on some systems, and goes on on others.
    const standstill = Math.max(passed, at - this.seenAt);
    this.seenMs = ms;
    this.seenAt = at;
    if (passed >= stillMs) this.leftOutMs += passed - beatMs;
    if (standstill >= stillMs) this.tell(standstill, at);
    return ms - this.leftOutMs;
  }

  private tell(standstillMs: number, at: number): void {
    // As for durations, one beat of it counts.
    this.standstills.push({ from: at - standstillMs + beatMs, to: at });
    if (this.standstills.length > remembered) this.standstills.shift();
    for (const told of [...this.told]) told(standstillMs);
  }

  private async beat(): Promise<never> {
    this.isBeating = true;
    // Before the first beat nobody has looked.
    this.seenMs = this.base.monotonic();
    this.seenAt = this.base.now();
    for (;;) {
      await this.base.sleep(beatMs);
      this.look();
    }
  }
}

/** The time of this thread of a browser. */
export const awakeClock: AwakeClock = new AwakeClock(systemClock);
