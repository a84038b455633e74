import { describe, expect, it } from "vitest";
import { learningRateAt, type SftSchedule, ShuffledEpochs, sftRows } from "../../src/train/sft.ts";

const schedule: SftSchedule = {
  steps: 110,
  batchRows: 4,
  learningRate: 2,
  warmupSteps: 10,
  finalShare: 0.25,
  optimizer: { beta1: 0.9, beta2: 0.95, eps: 1e-8, weightDecay: 0, maxGradNorm: 1 },
  seed: 1,
};

describe("learningRateAt", () => {
  it("rises to the top, then falls along a cosine to its share", () => {
    expect(learningRateAt(schedule, 1)).toBeCloseTo(0.2, 12);
    expect(learningRateAt(schedule, 10)).toBe(2);
    expect(learningRateAt(schedule, 11)).toBe(2);
    expect(learningRateAt(schedule, 110)).toBeCloseTo(0.5, 12);
    const middle = (learningRateAt(schedule, 60) + learningRateAt(schedule, 61)) / 2;
    expect(middle).toBeCloseTo((2 + 0.5) / 2, 3);
  });

  it("works without a warm-up and with a single step", () => {
    expect(learningRateAt({ ...schedule, warmupSteps: 0 }, 1)).toBe(2);
    expect(learningRateAt({ ...schedule, warmupSteps: 0, steps: 1 }, 1)).toBe(0.5);
  });
});

describe("ShuffledEpochs", () => {
  it("shows everything once per epoch, in another order each time", () => {
    const epochs = new ShuffledEpochs(50, 3);
    const first = epochs.slice(0, 50);
    const second = epochs.slice(50, 50);
    expect([...first].sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, i) => i));
    expect([...second].sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, i) => i));
    expect(first).not.toEqual(second);
    expect(epochs.slice(0, 50)).toEqual(first);
    expect(new ShuffledEpochs(50, 4).slice(0, 50)).not.toEqual(first);
  });
});

describe("sftRows", () => {
  it("predicts masked tokens but the first, averaged over the batch", () => {
    const rows = sftRows([
      { ids: [5, 6, 7, 8], mask: [1, 0, 1, 1] },
      { ids: [9, 4], mask: [0, 1] },
      { ids: [3, 3], mask: [0, 0] },
    ]);
    expect(rows.map((r) => Array.from(r.src))).toEqual([[1, 2], [0], []]);
    expect(rows.map((r) => Array.from(r.target))).toEqual([[7, 8], [4], []]);
    expect(rows.flatMap((r) => Array.from(r.weight))).toEqual([1 / 3, 1 / 3, 1 / 3].map(Math.fround));
  });

  it("refuses a mask of another length", () => {
    expect(() => sftRows([{ ids: [1, 2], mask: [1] }])).toThrow("Example 0 of the batch has 2 ids and a mask of 1.");
  });
});
