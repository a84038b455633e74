// Plan: however many steps the critic takes while the policy rests, few are held with their rows, none is lost with a
// device and none is taken twice.
import { describe, expect, it } from "vitest";
import type { EngineParts } from "../../src/engine/engine_parts.ts";
import { SavedState } from "../../src/engine/saved_state.ts";
import type { CriticUpdateRequest } from "../../src/schema/row_scores.ts";
import { countingRow, emptyUpdate } from "./counting_engine.ts";
import { type DeviceState, learnt, numberOf, SumParts, stepped } from "./sum_parts.ts";
import { VirtualClock } from "./virtual_clock.ts";
import { Waits } from "./waits.ts";

const { optimizer } = emptyUpdate("");
const step = (i: number): CriticUpdateRequest => ({ id: `k${i}`, rows: [countingRow(i + 1)], optimizer, clipRange: 0 });
const most = 16;

/** What a critic comes to by the first so many steps. */
function learntBy(steps: number): number {
  return Array.from({ length: steps }, (_, i) => step(i)).reduce((w, { rows }) => stepped(w, learnt(rows)), 0);
}

function deviceLosing(losses: readonly number[]): DeviceState {
  const waits = new Waits({ inFlight: "drain", stepsPerQuantum: 1 });
  const known = { losses: new Set(losses), waits, criticSteps: new Set<string>(), operations: 0 };
  return { ...known, clock: new VirtualClock(), onStep: async () => {} };
}

/** Takes steps of the critic, each again on a fresh device where one is lost over it, as an engine's questions are. */
async function taught(device: DeviceState, steps: number): Promise<{ saved: SavedState; parts: EngineParts }> {
  const saved = new SavedState();
  let parts: EngineParts = new SumParts(device);
  for (let i = 0; i < steps; ) {
    try {
      await saved.updateCritic(parts, step(i));
      i++;
    } catch {
      parts = await saved.reopen(async (state) => new SumParts(device, state));
    }
  }
  return { saved, parts };
}

describe("the steps of a critic alone", () => {
  it.each([1, most, most + 1, 2 * most, 5 * most + 3])(
    "are all there after %i of them, few taken again",
    async (steps) => {
      const device = deviceLosing([]);
      const { saved } = await taught(device, steps);
      const before = device.operations;
      const reopened = await saved.reopen(async (state) => new SumParts(device, state));
      const again = device.operations - before;
      expect(again).toBe(1 + ((steps - 1) % most));
      const { files } = await saved.read(reopened, { optimizer: true });
      expect(numberOf(files["critic/weight"])).toBe(learntBy(steps));
    },
  );

  it("are each taken once, whatever the device is lost over", async () => {
    const steps = most + 2;
    // The reading back after the sixteenth among them.
    for (let at = 1; at <= steps + 1; at++) {
      const { saved, parts } = await taught(deviceLosing([at]), steps);
      const { files } = await saved.read(parts, { optimizer: true });
      expect(numberOf(files["critic/weight"]), `lost at ${at}`).toBe(learntBy(steps));
    }
  });
});
