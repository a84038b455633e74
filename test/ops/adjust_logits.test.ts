/** Cases: positive, negative, zero and -inf logits; a vocabulary that is no multiple of 32; no edits, no masks. */
import { describe, expect, it } from "#test";
import { PlanBuilder } from "../../src/gpu/plan_builder.ts";
import { adjustLogits, encodeLogitEdits, type LogitEdit, maskWords } from "../../src/ops/adjust_logits.ts";
import { testDevice } from "./opcheck.ts";

async function adjusted(
  logits: readonly (readonly number[])[],
  edits: readonly LogitEdit[],
  masks: readonly { row: number; allowed: readonly number[] }[],
): Promise<number[][]> {
  const device = await testDevice();
  const vocab = logits[0]?.length ?? 0;
  const plan = new PlanBuilder(device, "adjust");
  const input = plan.input("logits", [logits.length, vocab]);
  const [E, M] = [plan.dim("E", 16), plan.dim("M", 4)];
  adjustLogits(plan, {
    logits: input,
    edits: plan.input("edits", [E, 4], "u32"),
    maskedRows: plan.input("maskedRows", [M], "u32"),
    masks: plan.input("masks", [M, maskWords(vocab)], "u32"),
  });
  plan.output("logits", input);
  const built = await plan.build();
  const words = new Uint32Array(masks.length * maskWords(vocab));
  for (const [m, { allowed }] of masks.entries()) {
    for (const id of allowed) {
      const at = m * maskWords(vocab) + (id >> 5);
      words[at] = (words[at] as number) | (1 << (id & 31));
    }
  }
  const read = await built.run(
    { E: edits.length, M: masks.length },
    {
      logits: Float32Array.from(logits.flat()),
      edits: encodeLogitEdits(edits),
      maskedRows: Uint32Array.from(masks, (m) => m.row),
      masks: words,
    },
  );
  built.dispose();
  const flat = Array.from(read.logits as Float32Array);
  return logits.map((row, r) => flat.slice(r * row.length, (r + 1) * row.length));
}

const inf = Number.POSITIVE_INFINITY;

describe("adjust_logits", () => {
  it("divides positive logits, multiplies negative ones, then adds", async () => {
    const rows = [
      [4, -4, 0, -inf],
      [1, 1, 1, 1],
    ];
    const edits = [
      { row: 0, id: 0, repetition: 2, addend: 0.5 },
      { row: 0, id: 1, repetition: 2, addend: 0 },
      { row: 0, id: 2, repetition: 2, addend: -3 },
      { row: 0, id: 3, repetition: 1, addend: 100 },
      { row: 1, id: 3, repetition: 1, addend: -1.25 },
    ];
    expect(await adjusted(rows, edits, [])).toEqual([
      [2.5, -8, -3, -inf],
      [1, 1, 1, -0.25],
    ]);
  });

  it("forbids what a row's mask leaves out, after the edits, and leaves other rows alone", async () => {
    const row = Array.from({ length: 70 }, (_, i) => i - 35);
    const allowed = [0, 31, 32, 63, 64, 69];
    const edits = [{ row: 2, id: 69, repetition: 1, addend: 7 }];
    const got = await adjusted([row, row, row], edits, [
      { row: 2, allowed },
      { row: 0, allowed: [] },
    ]);
    expect(got[0]).toEqual(row.map(() => -inf));
    expect(got[1]).toEqual(row);
    expect(got[2]).toEqual(row.map((l, i) => (i === 69 ? l + 7 : allowed.includes(i) ? l : -inf)));
  });

  it("changes nothing without edits and masks", async () => {
    expect(await adjusted([[1, -2, 3]], [], [])).toEqual([[1, -2, 3]]);
  });

  it("refuses shapes that do not belong together", async () => {
    const plan = new PlanBuilder(await testDevice(), "adjust");
    const good = {
      logits: plan.temp([2, 40], "logits"),
      edits: plan.input("edits", [3, 4], "u32"),
      maskedRows: plan.input("rows", [2], "u32"),
      masks: plan.input("masks", [2, 2], "u32"),
    };
    expect(() => adjustLogits(plan, { ...good, edits: plan.input("e", [3, 3], "u32") })).toThrow(
      "ShapeError[adjust_logits.edits]: expected (3,4), got (3,3).",
    );
    expect(() => adjustLogits(plan, { ...good, masks: plan.input("m", [2, 1], "u32") })).toThrow(
      "ShapeError[adjust_logits.masks]: expected (2,2), got (2,1).",
    );
  });
});
