import type { Clock } from "../core/clock.ts";
import type { DeviceTimeline, DeviceWork } from "../schema/device_timeline.ts";
import type { DeviceTime } from "../schema/engine.ts";
import { SpanRing } from "./span_ring.ts";

/** Stretches of work that are kept: minutes of decoding, hours of training. */
const keptSpans = 4096;

/** Splits the time since it was made into what the device did; what is not accounted for was idle. */
export class DeviceTimes {
  private readonly clock: Clock;
  private readonly startMs: number;
  private readonly busyMs: Record<DeviceWork, number> = { prefill: 0, decode: 0, train: 0, optimizer: 0, score: 0 };

  private readonly spans = new SpanRing(keptSpans);
  /** Seconds since the epoch when the monotonic clock stood at 0. */
  private epoch: number;
  private current: { readonly kind: DeviceWork; since: number } | null = null;

  constructor(clock: Clock) {
    this.clock = clock;
    this.startMs = clock.monotonic();
    this.epoch = this.presentEpoch();
  }

  /** Runs `work` and books its duration under `kind`. One at a time. */
  async measure<T>(kind: DeviceWork, work: () => Promise<T>): Promise<T> {
    const startMs = this.clock.monotonic();
    this.current = { kind, since: startMs };
    try {
      return await work();
    } finally {
      this.book();
      this.current = null;
      const epoch = this.presentEpoch();
      // A computer that slept has moved it by what monotonic time left out; rounding has not.
      if (Math.abs(epoch - this.epoch) > 1) this.epoch = epoch;
      this.spans.add(kind, this.epoch + startMs / 1000, (this.clock.monotonic() - startMs) / 1000);
    }
  }

  private presentEpoch(): number {
    return (this.clock.now() - this.clock.monotonic()) / 1000;
  }

  /** Books what the work under way has taken so far, so that two readings never share a part of it. */
  private book(): void {
    if (this.current === null) return;
    const now = this.clock.monotonic();
    this.busyMs[this.current.kind] += now - this.current.since;
    this.current.since = now;
  }

  /** Finished stretches of work from number `after` on. */
  timeline(after: number): DeviceTimeline {
    return this.spans.since(after);
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
