// Plan: what writes a buffer stays; a temporary's writers stay when something live touches it later; chains of unused
// results fall as a whole; what is read back stays.
import { describe, expect, it } from "vitest";
import { type DispatchEffect, liveDispatches } from "../../src/gpu/live_dispatches.ts";

const effect = (touches: number[], writes: number[], lasting = false): DispatchEffect => ({ touches, writes, lasting });

describe("liveDispatches", () => {
  it("keeps what leads to a buffer", () => {
    expect(liveDispatches([effect([0], [0]), effect([0, 1], [1]), effect([1], [], true)], [])).toEqual([
      true,
      true,
      true,
    ]);
  });

  it("drops chains that nobody uses", () => {
    const effects = [effect([0], [0]), effect([0, 1], [1]), effect([1, 2], [2]), effect([0], [], true)];
    expect(liveDispatches(effects, [])).toEqual([true, false, false, true]);
    expect(liveDispatches(effects, [1])).toEqual([true, true, false, true]);
  });

  it("keeps both writers of a temporary that is added to", () => {
    expect(liveDispatches([effect([0], [0]), effect([0], [0]), effect([0], [], true)], [])).toEqual([true, true, true]);
  });

  it("drops a write after the last use", () => {
    expect(liveDispatches([effect([0], [0]), effect([0], [], true), effect([0], [0])], [])).toEqual([
      true,
      true,
      false,
    ]);
  });
});
