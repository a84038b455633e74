import type { Clock } from "../core/clock.ts";

/** Between two looks whether a starting agent has called, in milliseconds. */
const lookMs = 20;

/** Lets few agents start at a time, so that their start-up does not take the processors from the device. */
export class StartGate {
  private readonly clock: Clock;
  private readonly limit: number;
  private readonly windowMs: number;
  private readonly hasCalled: (id: string) => boolean;
  private readonly onRoom: () => void;
  private readonly starting = new Map<string, AbortController>();

  /**
   * `hasCalled` tells whether a call of an agent waits for its reply, which nothing announces; `onRoom` is called
   * whenever one that was starting counts as started.
   */
  constructor(clock: Clock, limit: number, windowMs: number, hasCalled: (id: string) => boolean, onRoom: () => void) {
    this.clock = clock;
    this.limit = limit;
    this.windowMs = windowMs;
    this.hasCalled = hasCalled;
    this.onRoom = onRoom;
  }

  /** Agents that are starting now. */
  get size(): number {
    return this.starting.size;
  }

  /** True when one more may start; it counts from now on. */
  enter(id: string): boolean {
    if (this.starting.size >= this.limit) return false;
    const left = new AbortController();
    this.starting.set(id, left);
    this.started(id, left.signal).then(
      () => this.leave(id),
      () => undefined,
    );
    return true;
  }

  /** Resolves when the agent has called or its window is over; rejects once it has left. */
  private async started(id: string, left: AbortSignal): Promise<void> {
    const end = this.clock.monotonic() + this.windowMs;
    for (let rest = this.windowMs; rest > 0; rest = end - this.clock.monotonic()) {
      await this.clock.sleep(Math.min(lookMs, rest), left);
      if (this.hasCalled(id)) return;
    }
  }

  /** The agent has shown life or ended; unknown ids are ignored. */
  leave(id: string): void {
    const left = this.starting.get(id);
    if (left === undefined) return;
    this.starting.delete(id);
    left.abort();
    this.onRoom();
  }
}
