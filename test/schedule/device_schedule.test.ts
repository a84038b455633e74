import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  afterAction,
  type DeviceAction,
  type DeviceDemand,
  type DeviceHistory,
  type DevicePolicy,
  nextDeviceAction,
  noHistory,
} from "../../src/schedule/device_schedule.ts";

const nothing: DeviceDemand = {
  prefill: false,
  decode: false,
  inFlight: 0,
  train: false,
  update: false,
  score: false,
};
const drain: DevicePolicy = { inFlight: "drain", stepsPerQuantum: 2 };
const keep: DevicePolicy = { inFlight: "keep", stepsPerQuantum: 2 };

/** The actions taken when the same demand goes on and on. */
function actions(demand: DeviceDemand, policy: DevicePolicy, count: number): DeviceAction[] {
  let history: DeviceHistory = noHistory;
  return Array.from({ length: count }, () => {
    const action = nextDeviceAction(demand, history, policy);
    history = afterAction(history, action);
    return action;
  });
}

describe("nextDeviceAction", () => {
  it("updates when nothing is in flight, or at once where sequences in flight go on", () => {
    const waiting = { ...nothing, update: true, inFlight: 1, decode: true };
    expect(nextDeviceAction(waiting, noHistory, drain)).toBe("decode");
    expect(nextDeviceAction({ ...nothing, update: true }, noHistory, drain)).toBe("update");
    expect(nextDeviceAction(waiting, noHistory, keep)).toBe("update");
  });

  it("lets prefill and decode take turns", () => {
    const both = { ...nothing, prefill: true, decode: true, inFlight: 2 };
    expect(actions(both, drain, 4)).toEqual(["prefill", "decode", "prefill", "decode"]);
  });

  it("trains in the gaps, and after so many steps of inference at the latest", () => {
    expect(actions({ ...nothing, train: true }, keep, 2)).toEqual(["train", "train"]);
    const busy = { ...nothing, prefill: true, decode: true, train: true, inFlight: 2 };
    expect(actions(busy, keep, 6)).toEqual(["prefill", "decode", "train", "prefill", "decode", "train"]);
  });

  it("scores first, but never twice in a row over others", () => {
    expect(actions({ ...nothing, score: true, decode: true, inFlight: 1 }, drain, 4)).toEqual([
      "score",
      "decode",
      "score",
      "decode",
    ]);
    expect(actions({ ...nothing, score: true }, drain, 2)).toEqual(["score", "score"]);
  });

  it("never idles while something can run, and makes every kind of work wait a bounded number of actions", () => {
    const demand = fc.record({
      prefill: fc.boolean(),
      decode: fc.boolean(),
      inFlight: fc.nat(5),
      train: fc.boolean(),
      update: fc.boolean(),
      score: fc.boolean(),
    });
    const policy = fc.record({
      inFlight: fc.constantFrom("drain", "keep", "recompute") as fc.Arbitrary<DevicePolicy["inFlight"]>,
      stepsPerQuantum: fc.integer({ min: 1, max: 6 }),
    });
    fc.assert(
      fc.property(demand, policy, (d, p) => {
        const taken = actions(d, p, 30);
        const [first] = taken;
        if (first === "update") expect(d.inFlight === 0 || p.inFlight !== "drain").toBe(true);
        if (d.prefill || d.decode || d.train || d.score) expect(taken).not.toContain("idle");
        // An optimizer step ends its demand, so a state in which it may be taken goes no further than it.
        if (taken.includes("update")) return;
        for (const kind of ["prefill", "decode", "train", "score"] as const) {
          if (d[kind]) expect(taken.slice(0, 2 * (p.stepsPerQuantum + 2))).toContain(kind);
          else expect(taken).not.toContain(kind);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
