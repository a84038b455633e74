/** What the device did when. */
import type { DeviceTime } from "./engine.ts";

/** What a stretch of device time is booked under; the time between stretches was idle. */
export type DeviceWork = Exclude<keyof DeviceTime, "idle">;

/** A stretch of one kind of work; neighbours of one kind without a gap are one. */
export interface DeviceSpan {
  kind: DeviceWork;
  /** Seconds since the epoch. */
  start: number;
  seconds: number;
  /** Actions of the device in it. */
  actions: number;
}

/** Stretches from a cursor on. */
export interface DeviceTimeline {
  spans: DeviceSpan[];
  /** To be passed next time. */
  next: number;
  /** Stretches after the cursor that are no longer kept. */
  dropped: number;
}
