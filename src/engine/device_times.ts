import type { Clock } from "../core/clock.ts";
import type { DeviceTime } from "../schema/engine.ts";

/** What the device's time is booked under. */
export type TimeKind = Exclude<keyof DeviceTime, "idle">;

/** Splits the time since it was made into what the device did; what is not accounted for was idle. */
export class DeviceTimes {
  private readonly clock: Clock;
  private readonly startMs: number;
  private readonly busyMs: Record<TimeKind, number> = { prefill: 0, decode: 0, train: 0, optimizer: 0, score: 0 };

  private current: { readonly kind: TimeKind; since: number } | null = null;

  constructor(clock: Clock) {
    this.clock = clock;
    this.startMs = clock.monotonic();
  }

  /** Runs `work` and books its duration under `kind`. One at a time. */
  async measure<T>(kind: TimeKind, work: () => Promise<T>): Promise<T> {
    this.current = { kind, since: this.clock.monotonic() };
    try {
      return await work();
    } finally {
      this.book();
      this.current = null;
    }
  }

  /** Books what the work under way has taken so far, so that two readings never share a part of it. */
  private book(): void {
    if (this.current === null) return;
    const now = this.clock.monotonic();
    this.busyMs[this.current.kind] += now - this.current.since;
    this.current.since = now;
  }

  /** Seconds by kind; they add up to the elapsed time. */
  seconds(): DeviceTime {
    this.book();
    const { prefill, decode, train, optimizer, score } = this.busyMs;
    const elapsed = this.clock.monotonic() - this.startMs;
    const idle = Math.max(0, elapsed - prefill - decode - train - optimizer - score);
    return {
      prefill: prefill / 1000,
      decode: decode / 1000,
      train: train / 1000,
      optimizer: optimizer / 1000,
      score: score / 1000,
      idle: idle / 1000,
    };
  }
}
