import { describe, expect, it } from "vitest";
import { Rng, seedKey } from "../../src/core/rng.ts";
import { fromInt8, toInt8 } from "../../src/model/frozen_values.ts";

describe("i8 values", () => {
  it("err by at most half a step of their block", () => {
    const rng = new Rng(seedKey(1));
    const values = Float32Array.from({ length: 640 }, (_, i) => 10 ** Math.floor(i / 64 - 5) * rng.normal());
    const int8 = toInt8(values);
    const back = fromInt8(int8);
    for (const [i, v] of values.entries()) {
      const step = int8.scales[Math.floor(i / 64)] as number;
      expect(Math.abs((back[i] as number) - v)).toBeLessThanOrEqual(0.5001 * step);
    }
  });

  it("keep zeros, the largest of a block, and what is not finite", () => {
    const values = new Float32Array(192);
    values.set([3, -5, 1], 64);
    values[130] = Number.NaN;
    const back = fromInt8(toInt8(values));
    expect(Array.from(back.subarray(0, 64))).toEqual(new Array(64).fill(0));
    expect(back[65]).toBeCloseTo(-5, 6);
    expect(back[130]).toBeNaN();
  });
});
