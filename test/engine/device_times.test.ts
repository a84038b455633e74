import { describe, expect, it } from "vitest";
import { DeviceTimes } from "../../src/engine/device_times.ts";
import { VirtualClock } from "./virtual_clock.ts";

describe("DeviceTimes", () => {
  it("adds up to the elapsed time, also when it is read while work is under way", async () => {
    const clock = new VirtualClock();
    const times = new DeviceTimes(clock);
    clock.spend(1000);
    let end: () => void = () => {};
    const work = times.measure("train", () => {
      clock.spend(500);
      return new Promise<void>((resolve) => {
        end = resolve;
      });
    });
    const first = times.seconds();
    expect(first).toEqual({ prefill: 0, decode: 0, train: 0.5, optimizer: 0, score: 0, idle: 1 });
    clock.spend(250);
    end();
    await work;
    clock.spend(125);
    await expect(
      times.measure("decode", async () => {
        clock.spend(2000);
        throw new Error("lost");
      }),
    ).rejects.toThrow("lost");
    expect(times.seconds()).toEqual({ prefill: 0, decode: 2, train: 0.75, optimizer: 0, score: 0, idle: 1.125 });
  });
});

describe("the device's timeline", () => {
  const at = (clock: VirtualClock, times: DeviceTimes, kind: "decode" | "train", ms: number) =>
    times.measure(kind, async () => clock.spend(ms));

  it("stays with the time of the world where a sleep was left out of the monotonic one", async () => {
    let [monotonic, world] = [0, 1_000_000];
    const times = new DeviceTimes({ now: () => world, monotonic: () => monotonic, sleep: async () => {} });
    const work = (ms: number) =>
      times.measure("decode", async () => {
        monotonic += ms;
        world += ms;
      });
    await work(100);
    world += 60_000;
    await work(100);
    expect(times.timeline(0).spans.map(({ start, seconds }) => [start, seconds])).toEqual([
      [1_000, 0.1],
      [1_060.1, 0.1],
    ]);
  });

  it("joins neighbours of one kind, keeps gaps, and goes on from a cursor with the stretch that may have grown", async () => {
    const clock = new VirtualClock();
    const times = new DeviceTimes(clock);
    const start = clock.now() / 1000;
    await at(clock, times, "decode", 100);
    await at(clock, times, "decode", 50);
    clock.spend(10);
    await at(clock, times, "decode", 40);
    const first = times.timeline(0);
    expect(first.spans.map(({ kind, seconds, actions }) => [kind, Math.round(seconds * 1000), actions])).toEqual([
      ["decode", 150, 2],
      ["decode", 40, 1],
    ]);
    expect(first.spans[1]?.start).toBeCloseTo(start + 0.16, 6);
    expect([first.next, first.dropped]).toEqual([1, 0]);
    await at(clock, times, "decode", 10);
    await at(clock, times, "train", 5);
    const second = times.timeline(first.next);
    expect(second.spans.map(({ kind, seconds }) => [kind, Math.round(seconds * 1000)])).toEqual([
      ["decode", 50],
      ["train", 5],
    ]);
    expect(second.next).toBe(2);
  });

  it("ends a stretch after two seconds, keeps the last 4096, and says how many are gone", async () => {
    const clock = new VirtualClock();
    const times = new DeviceTimes(clock);
    for (let i = 0; i < 5; i++) await at(clock, times, "decode", 1000);
    expect(times.timeline(0).spans.map(({ seconds }) => Math.round(seconds))).toEqual([2, 2, 1]);
    for (let i = 0; i < 4096; i++) {
      clock.spend(10);
      await at(clock, times, "train", 1);
    }
    const { spans, dropped, next } = times.timeline(0);
    expect([spans.length, dropped, next]).toEqual([4096, 3, 4098]);
  });
});
