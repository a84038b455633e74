import { describe, expect, it } from "vitest";
import { PendingFaults, parseEngineFaults } from "../../src/engine/faults.ts";

describe("parseEngineFaults", () => {
  it("reads the engine's faults and passes over the others'", () => {
    expect(parseEngineFaults("device-lost@update:3, nan-grad@2,kill-after-append:100")).toEqual([
      { kind: "device-lost", update: 3 },
      { kind: "nan-grad", update: 2 },
    ]);
    expect(parseEngineFaults(undefined)).toEqual([]);
    expect(() => parseEngineFaults("nan-grad")).toThrow('LEYDEN_FAULT has "nan-grad", which names no fault.');
  });
});

describe("PendingFaults", () => {
  it("gives each fault once", () => {
    const faults = new PendingFaults(parseEngineFaults("device-lost@update:1,nan-grad@2"));
    expect([faults.take(1), faults.take(1), faults.take(2), faults.take(2)]).toEqual([
      "device-lost",
      undefined,
      "nan-grad",
      undefined,
    ]);
  });
});
