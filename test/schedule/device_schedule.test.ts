import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type DeviceDemand, nextDeviceAction } from "../../src/schedule/device_schedule.ts";

const base: DeviceDemand = {
  prefill: false,
  decode: false,
  inFlight: 0,
  update: false,
  score: false,
  held: false,
  last: "idle",
};

describe("nextDeviceAction", () => {
  it("updates only when nothing is in flight", () => {
    expect(nextDeviceAction({ ...base, update: true, inFlight: 1, decode: true })).toBe("decode");
    expect(nextDeviceAction({ ...base, update: true })).toBe("update");
  });

  it("lets prefill and decode take turns", () => {
    const both = { ...base, prefill: true, decode: true, inFlight: 2 };
    expect(nextDeviceAction({ ...both, last: "decode" })).toBe("prefill");
    expect(nextDeviceAction({ ...both, last: "prefill" })).toBe("decode");
  });

  it("never idles while something can run, and never updates over sequences in flight", () => {
    const demand = fc.record({
      prefill: fc.boolean(),
      decode: fc.boolean(),
      inFlight: fc.nat(5),
      update: fc.boolean(),
      score: fc.boolean(),
      held: fc.boolean(),
      last: fc.constantFrom("prefill", "decode", "update", "score", "idle") as fc.Arbitrary<DeviceDemand["last"]>,
    });
    fc.assert(
      fc.property(demand, (d) => {
        const action = nextDeviceAction(d);
        if (action === "update") expect(d.inFlight).toBe(0);
        if (action === "prefill" || action === "decode") expect(d[action]).toBe(true);
        if (d.prefill || d.decode || d.score) expect(action).not.toBe("idle");
      }),
    );
  });
});
