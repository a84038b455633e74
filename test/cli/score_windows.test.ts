import { describe, expect, it } from "vitest";
import { scoreWindows } from "../../src/cli/score_windows.ts";

/** Scores a token by its index in the window, so that the result shows how much context each one had. */
async function contextOf(window: Int32Array): Promise<{ logprobs: Float32Array }> {
  return { logprobs: Float32Array.from(window, (_, t) => t) };
}

describe("scoreWindows", () => {
  it("scores a text that fits in one piece", async () => {
    const got = await scoreWindows(Int32Array.of(4, 5, 6), 8, contextOf);
    expect(Array.from(got)).toEqual([0, 1, 2]);
  });

  it("gives every later token at least half a context", async () => {
    for (const [tokens, context] of [
      [100, 8],
      [17, 8],
      [9, 8],
      [30, 7],
      [5, 2],
      [4, 1],
    ] as const) {
      const got = await scoreWindows(new Int32Array(tokens), context, contextOf);
      expect(Array.from(got.subarray(0, context))).toEqual(Array.from({ length: context }, (_, t) => t));
      for (const before of got.subarray(context)) {
        expect(before).toBeGreaterThanOrEqual(context >> 1);
        expect(before).toBeLessThan(context);
      }
    }
  });

  it("scores nothing of nothing", async () => {
    expect((await scoreWindows(new Int32Array(0), 8, contextOf)).length).toBe(0);
  });
});
