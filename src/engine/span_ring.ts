import type { DeviceSpan, DeviceTimeline } from "../schema/device_timeline.ts";

/** Gap below which two stretches of one kind are one, in seconds: what planning the next action takes. */
const sameStretch = 0.002;

/** Longest stretch that another is added to, in seconds, so that a reader who follows sees work under way. */
const longestStretch = 2;

/** The last stretches of device work. */
export class SpanRing {
  private readonly capacity: number;
  private readonly spans: DeviceSpan[] = [];
  /** Number of the first one kept; numbers are counted from 0. */
  private first = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  add(kind: DeviceSpan["kind"], start: number, seconds: number): void {
    const last = this.spans.at(-1);
    const gap = last === undefined ? Number.POSITIVE_INFINITY : start - last.start - last.seconds;
    if (last !== undefined && last.kind === kind && gap < sameStretch && last.seconds < longestStretch) {
      last.seconds = start + seconds - last.start;
      last.actions++;
      return;
    }
    this.spans.push({ kind, start, seconds, actions: 1 });
    if (this.spans.length <= this.capacity) return;
    this.spans.shift();
    this.first++;
  }

  /** Stretches from number `after` on. The last one may still grow, so the next reading begins with it. */
  since(after: number): DeviceTimeline {
    const from = Math.max(after, this.first);
    const spans = this.spans.slice(from - this.first).map((span) => ({ ...span }));
    const next = Math.max(from, this.first + this.spans.length - 1);
    return { spans, next, dropped: from - after };
  }
}
