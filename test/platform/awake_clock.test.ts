import { describe, expect, it } from "vitest";
import { AwakeClock } from "../../src/platform/awake_clock.ts";
import { StoppableClock } from "./stoppable_clock.ts";

function started(): { base: StoppableClock; clock: AwakeClock; told: number[] } {
  const base = new StoppableClock();
  const clock = new AwakeClock(base);
  const told: number[] = [];
  clock.onStandstill((ms) => told.push(ms));
  return { base, clock, told };
}

/** Whether a wait is over, looked at without waiting. */
function watch(wait: Promise<void>): () => boolean {
  let over = false;
  void wait.then(() => {
    over = true;
  });
  return () => over;
}

describe("the clock of a thread that may be stopped", () => {
  it("is any other clock while nothing stops it", async () => {
    const { base, clock, told } = started();
    const isOver = watch(clock.sleep(30_000));
    await base.run(29_999);
    expect([isOver(), clock.monotonic()]).toEqual([false, 29_999]);
    await base.run(1);
    expect([isOver(), clock.monotonic(), clock.now()]).toEqual([true, 30_000, base.now()]);
    expect(told).toEqual([]);
  });

  it("leaves a standstill out of waits and durations, and tells how long it was", async () => {
    const { base, clock, told } = started();
    const isOver = watch(clock.sleep(10_000));
    await base.run(4_000);
    await base.freeze(600_000);
    // Of what passed between two looks one beat counts.
    expect([isOver(), clock.monotonic()]).toEqual([false, 5_000]);
    expect(told).toEqual([600_000]);
    expect(clock.now()).toBe(base.now());
    await base.run(4_999);
    expect(isOver()).toBe(false);
    await base.run(1);
    expect([isOver(), clock.monotonic()]).toEqual([true, 10_000]);
    expect(told).toEqual([600_000]);
  });

  it("knows how much of a span of the world's time it stood still", async () => {
    const { base, clock } = started();
    const start = base.now();
    await base.run(4_000);
    await base.freeze(600_000);
    await base.run(10_000);
    await base.freeze(60_000);
    const end = base.now();
    // One beat of each counts as time, as for durations.
    expect(clock.stoodStill(start, end)).toBe(599_000 + 59_000);
    expect(end - start - clock.stoodStill(start, end)).toBe(clock.monotonic());
    expect(clock.stoodStill(start, start + 4_000)).toBe(0);
    expect(clock.stoodStill(start + 304_000, end - 70_000)).toBe(300_000);
    expect(clock.stoodStill(end, end)).toBe(0);
    base.sleepComputer(30_000);
    await base.run(1_000);
    expect(clock.stoodStill(end, base.now())).toBe(30_000);
  });

  it("counts a thread as standing still from five seconds on: one that is busy is late too", async () => {
    const { base, clock, told } = started();
    const isOver = watch(clock.sleep(4_000));
    await base.run(500);
    await base.freeze(4_400);
    expect([isOver(), clock.monotonic(), told]).toEqual([true, 4_900, []]);
    await base.run(1_000);
    await base.freeze(5_000);
    expect(told).toEqual([5_000]);
  });

  it("never goes back, and a wait ends even where every beat comes late", async () => {
    const { base, clock } = started();
    const isOver = watch(clock.sleep(20_000));
    let before = clock.monotonic();
    for (let i = 0; i < 20; i++) {
      await base.freeze(60_000);
      expect(clock.monotonic()).toBeGreaterThan(before);
      before = clock.monotonic();
    }
    expect(isOver()).toBe(true);
  });

  it("tells of a sleep in which monotonic time stood still too, and cuts no wait short by it", async () => {
    const { base, clock, told } = started();
    const isOver = watch(clock.sleep(10_000));
    await base.run(5_000);
    base.sleepComputer(3_600_000);
    await base.run(4_999);
    expect(isOver()).toBe(false);
    expect(told).toEqual([3_601_000]);
    await base.run(1);
    expect([isOver(), clock.monotonic()]).toEqual([true, 10_000]);
  });

  it("ends a wait when its signal fires, after a standstill too", async () => {
    const { base, clock } = started();
    const stop = new AbortController();
    const wait = clock.sleep(10_000, stop.signal);
    const outcome = expect(wait).rejects.toMatchObject({ code: "cancelled" });
    await base.run(1_000);
    await base.freeze(60_000);
    stop.abort();
    await outcome;
    await expect(clock.sleep(10, AbortSignal.abort())).rejects.toMatchObject({ code: "cancelled" });
  });

  it("waits longer than a timer can", async () => {
    const { base, clock } = started();
    const waits: number[] = [];
    const { sleep } = base;
    base.sleep = (ms, signal) => {
      waits.push(ms);
      return sleep(ms, signal);
    };
    void clock.sleep(2 ** 32);
    await base.run(0);
    expect(Math.max(...waits)).toBeLessThan(2 ** 31);
  });
});
