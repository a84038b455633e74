// Plan: packing is first fit in order, offsets are right, defaults are plain rows, malformed rows are refused by place;
// property: every record of every row appears once with its own numbers.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TrainRow } from "../../src/schema/engine.ts";
import { packRows, type RowLimits } from "../../src/train/micro_batches.ts";

const limits: RowLimits = { vocabSize: 50, contextLength: 16, microBatchTokens: 10 };

function row(ids: readonly number[], extra: Partial<TrainRow> = {}): TrainRow {
  const n = Math.max(0, ids.length - 1);
  return {
    ids: Int32Array.from(ids),
    src: Int32Array.from({ length: n }, (_, t) => t),
    target: Int32Array.from(ids.slice(1)),
    weight: new Float32Array(n).fill(0.5),
    advantage: new Float32Array(n).fill(2),
    oldLogprob: new Float32Array(n).fill(-1),
    ...extra,
  };
}

function ids(n: number, from = 0): number[] {
  return Array.from({ length: n }, (_, i) => (from + i) % 50);
}

describe("packRows", () => {
  it("packs in order, whatever fits, and pads nothing (tunix 2310)", () => {
    const rows = [6, 5, 4, 3, 2].map((n) => row(ids(n)));
    expect(packRows(rows, limits).map((b) => b.rows.map((r) => r.row))).toEqual([[0], [1, 2], [3, 4]]);
    expect(packRows(rows, limits).map((b) => b.ids.length)).toEqual([6, 9, 5]);
  });

  it("wants reference log-probabilities where the loss has a KL term", () => {
    const without = [row(ids(4), { refLogprob: new Float32Array(3) }), row(ids(1)), row(ids(3))];
    const needing = { ...limits, needsRefLogprob: true };
    expect(() => packRows(without, needing)).toThrow("Training row 2 has no refLogprob, which the KL term takes.");
    expect(packRows(without.slice(0, 2), needing)).toHaveLength(1);
  });

  it("shifts src and end to the batch and fills positions", () => {
    const tree = row([7, 8, 9], { pos: Int32Array.from([0, 1, 1]), end: Int32Array.from([3, 2, 3]) });
    const [batch] = packRows([row(ids(4)), tree], limits);
    expect(batch?.ids).toEqual(Uint32Array.from([0, 1, 2, 3, 7, 8, 9]));
    expect(batch?.pos).toEqual(Uint32Array.from([0, 1, 2, 3, 0, 1, 1]));
    expect(batch?.end).toEqual(Uint32Array.from([4, 4, 4, 4, 7, 6, 7]));
    expect(batch?.src).toEqual(Uint32Array.from([0, 1, 2, 4, 5]));
    expect(batch?.target).toEqual(Uint32Array.from([1, 2, 3, 8, 9]));
    expect(batch?.rows).toEqual([
      { row: 0, firstRecord: 0 },
      { row: 1, firstRecord: 3 },
    ]);
    expect(batch?.refLogprob).toEqual(new Float32Array(5));
  });

  it("leaves out rows without records", () => {
    expect(packRows([row([]), row([3])], limits)).toEqual([]);
  });

  it("carries every record once", () => {
    const lengths = fc.array(fc.integer({ min: 0, max: 10 }), { maxLength: 12 });
    fc.assert(
      fc.property(lengths, (sizes) => {
        const rows = sizes.map((n, i) => row(ids(n, i), { weight: new Float32Array(Math.max(0, n - 1)).fill(i + 1) }));
        const batches = packRows(rows, limits);
        const seen = batches.flatMap((b) => b.rows.map((r) => r.row)).sort((a, b) => a - b);
        expect(seen).toEqual([...rows.keys()].filter((i) => (rows[i] as TrainRow).src.length > 0));
        for (const batch of batches) {
          expect(batch.ids.length).toBeLessThanOrEqual(limits.microBatchTokens);
          for (const { row: index, firstRecord } of batch.rows) {
            const own = rows[index] as TrainRow;
            for (const [r, target] of own.target.entries()) {
              expect(batch.target[firstRecord + r]).toBe(target);
              expect(batch.weight[firstRecord + r]).toBe(index + 1);
              expect(batch.ids[batch.src[firstRecord + r] as number]).toBe(own.ids[own.src[r] as number]);
            }
          }
        }
      }),
    );
  });

  const bad: [string, TrainRow, string][] = [
    ["too long", row(ids(11)), "Row 0 has 11 tokens; a micro-batch holds 10."],
    ["an id outside the vocabulary", row([1, 50]), "Training row 0 has ids[1] = 50; it must lie in 0..49."],
    ["a negative target", row([1, 2], { target: Int32Array.of(-1) }), "target[0] = -1; it must lie in 0..49"],
    ["a source outside the row", row([1, 2], { src: Int32Array.of(2) }), "src[0] = 2; it must lie in 0..1"],
    ["an end before its token", row([1, 2], { end: Int32Array.of(2, 1) }), "end[1] = 1; it must lie in 2..2"],
    ["a position past the context", row([1, 2], { pos: Int32Array.of(0, 16) }), "pos[1] = 16; it must lie in 0..15"],
    ["missing weights", row([1, 2, 3], { weight: new Float32Array(1) }), "has 1 values in weight; 2 belong there"],
  ];
  for (const [what, one, message] of bad) {
    it(`refuses ${what}`, () => expect(() => packRows([one], limits)).toThrow(message));
  }

  it("refuses a plain row longer than the context", () => {
    const wide = { ...limits, microBatchTokens: 100 };
    expect(() => packRows([row(ids(17))], wide)).toThrow("Training row 0 has 17 tokens; this model's context is 16.");
  });
});
