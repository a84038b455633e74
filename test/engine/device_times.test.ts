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
