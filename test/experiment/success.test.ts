import { describe, expect, it } from "vitest";
import { seedKey } from "../../src/core/rng.ts";
import { compareSuccess, summarizeSuccess } from "../../src/experiment/success.ts";

const results = [
  { task: "a", rewards: [1, 0, 0, 1] },
  { task: "b", rewards: [0, 0, 0, 0] },
  { task: "c", rewards: [1, 1, 1, 0.6] },
  { task: "d", rewards: [0, 0, 0.5, 1] },
];

describe("summarizeSuccess", () => {
  it("counts rewards above one half, and pass@k over all samples", () => {
    const s = summarizeSuccess(results, seedKey(1));
    expect(s.pass1).toBeCloseTo((0.5 + 0 + 1 + 0.25) / 4, 12);
    expect(s.passk).toBeCloseTo(3 / 4, 12);
    expect(s).toMatchObject({ tasks: 4, k: 4 });
    expect(s.ci95[0]).toBeLessThan(s.pass1);
    expect(s.ci95[1]).toBeGreaterThan(s.pass1);
    expect(summarizeSuccess(results, seedKey(1))).toEqual(s);
  });

  it("is zero without tasks", () => {
    expect(summarizeSuccess([], seedKey(1))).toMatchObject({ tasks: 0, pass1: 0, passk: 0, k: 0 });
  });
});

describe("compareSuccess", () => {
  it("pairs tasks and refuses lists of different length", () => {
    const better = results.map((r) => ({ ...r, rewards: r.rewards.map(() => 1) }));
    expect(compareSuccess(results, better, seedKey(1)).value).toBeCloseTo(1 - 1.75 / 4, 12);
    expect(() => compareSuccess(results, better.slice(1), seedKey(1))).toThrow();
  });
});
