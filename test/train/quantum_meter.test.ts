import { describe, expect, it } from "vitest";
import { QuantumMeter } from "../../src/train/quantum_meter.ts";
import { VirtualClock } from "../engine/virtual_clock.ts";

describe("QuantumMeter", () => {
  it("allows as many tokens as keep the longest submit within its limit, others' time not counted", async () => {
    const clock = new VirtualClock();
    const meter = new QuantumMeter(clock, 50);
    expect(meter.mostTokens).toBe(Number.POSITIVE_INFINITY);
    const others = async () => clock.spend(1000);
    const pass = (ms: readonly number[]) => async (between: () => Promise<void>) => {
      for (const [i, quantum] of ms.entries()) {
        if (i > 0) await between();
        clock.spend(quantum);
      }
      return ms.length;
    };
    expect(await meter.watch(100, others, pass([5, 20, 10]))).toBe(3);
    expect(meter.mostTokens).toBe(250);
    // One slow pass counts half.
    await meter.watch(100, others, pass([60]));
    expect(meter.mostTokens).toBe(125);
    await expect(meter.watch(10, others, () => Promise.reject(new Error("lost")))).rejects.toThrow("lost");
    expect(meter.mostTokens).toBe(125);
  });
});
