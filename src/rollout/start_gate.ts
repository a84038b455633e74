import type { Clock } from "../core/clock.ts";

/** Lets few agents start at a time, so that their start-up does not take the processors from the device. */
export class StartGate {
  private readonly clock: Clock;
  private readonly limit: number;
  private readonly windowMs: number;
  private readonly onRoom: () => void;
  private readonly starting = new Map<string, AbortController>();

  /** `onRoom` is called whenever one that was starting counts as started. */
  constructor(clock: Clock, limit: number, windowMs: number, onRoom: () => void) {
    this.clock = clock;
    this.limit = limit;
    this.windowMs = windowMs;
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
    this.clock.sleep(this.windowMs, left.signal).then(
      () => this.leave(id),
      () => undefined,
    );
    return true;
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
