import { describe, expect, it } from "vitest";
import { LocalEngine } from "../../src/engine/local_engine.ts";
import type { DevicePolicy } from "../../src/schedule/device_schedule.ts";
import { emptyUpdate, request } from "./counting_engine.ts";
import { SumParts } from "./sum_parts.ts";
import { VirtualClock } from "./virtual_clock.ts";
import { Waits } from "./waits.ts";

/** Runs an update that is asked for while a sequence is in flight; how long it says it drained. */
async function drainMs(policy: DevicePolicy): Promise<number> {
  const clock = new VirtualClock();
  const device = {
    clock,
    losses: new Set<number>(),
    waits: new Waits(policy),
    criticSteps: new Set<string>(),
    operations: 0,
    onStep: async () => {},
  };
  const engine = await LocalEngine.open({
    open: async () => new SumParts(device),
    clock,
    limits: { maxSequences: 4, prefillTokens: 32, burst: 4 },
    version: 0,
    faults: [],
    policy,
  });
  const running = engine.generate(request("a", [1], 13));
  const [result] = await Promise.all([engine.update(emptyUpdate("u")), running]);
  await engine.close();
  return result.drainMs;
}

describe("the time an update waits for sequences in flight", () => {
  it("is told by the update that waited, and is 0 where none does", async () => {
    // A prefill step takes 2 ms and draws one token, the other twelve take 1 ms each.
    expect(await drainMs({ inFlight: "drain", stepsPerQuantum: 1 })).toBe(14);
    expect(await drainMs({ inFlight: "keep", stepsPerQuantum: 1 })).toBe(0);
  });
});
