import { describe, expect, it } from "#test";
import { PlanBuilder } from "../../src/gpu/plan_builder.ts";
import { uploadTensor } from "../../src/gpu/readback.ts";
import { add } from "../../src/ops/add.ts";
import { type EmbeddingOptions, embedding } from "../../src/ops/embedding.ts";
import { embeddingIndex, embeddingIndexInputs, requireIndices } from "../../src/ops/embedding_index.ts";
import { zero } from "../../src/ops/fill.ts";
import { type HostTensor, type OpCase, opcheck, testDevice } from "./opcheck.ts";

function reference(inputs: Readonly<Record<string, HostTensor>>, o: EmbeddingOptions): Record<string, HostTensor> {
  const { ids, w, pos, wpe } = inputs as Record<"ids" | "w", HostTensor> & Partial<Record<"pos" | "wpe", HostTensor>>;
  const cols = w.shape[1] as number;
  const y = new Float64Array(ids.data.length * cols);
  for (const [t, id] of ids.data.entries()) {
    for (let c = 0; c < cols; c++) {
      const p = pos === undefined || wpe === undefined ? 0 : (wpe.data[(pos.data[t] as number) * cols + c] as number);
      y[t * cols + c] = o.scale * (w.data[id * cols + c] as number) + p;
    }
  }
  return { y: { shape: [ids.data.length, cols], data: y } };
}

/** A case with the index of its ids (and positions) as inputs. */
function withIndex(
  vocab: number,
  cols: number,
  ids: number[],
  options: Partial<EmbeddingOptions> = {},
  positions?: { rows: number; pos: number[] },
): OpCase<EmbeddingOptions> {
  const shapes: Record<string, number[]> = { ids: [ids.length], w: [vocab, cols] };
  const data: Record<string, Uint32Array> = { ids: Uint32Array.from(ids) };
  const put = (prefix: string, of: number[]): void => {
    for (const [name, values] of Object.entries(embeddingIndex(of))) {
      const key = prefix === "" ? name : `${prefix}${name[0]?.toUpperCase()}${name.slice(1)}`;
      shapes[key] = [values.length];
      data[key] = values;
    }
  };
  put("", ids);
  if (positions !== undefined) {
    shapes.wpe = [positions.rows, cols];
    shapes.pos = [ids.length];
    data.pos = Uint32Array.from(positions.pos);
    put("pos", positions.pos);
  }
  return { shapes, data, options };
}

const manyIds = Array.from({ length: 131 }, (_, i) => (i * i + 3 * i) % 37);

opcheck(embedding, {
  reference,
  variants: [{ deviceClass: "software" }, { deviceClass: "gpu" }],
  cases: [
    withIndex(1, 1, [0]),
    withIndex(5, 8, [4, 4, 0, 4], { scale: Math.sqrt(8) }),
    withIndex(37, 33, manyIds),
    withIndex(7, 20, [6, 0, 6, 1, 2], { scale: 3 }, { rows: 4, pos: [0, 1, 2, 3, 0] }),
    // Windows of 16 rows: each id is found in its own.
    withIndex(40, 20, [39, 0, 15, 16, 31, 32, 39, 16], { windowBytes: 16 * 20 * 4 }),
  ],
  bad: [
    { shapes: { ids: [3, 1], w: [4, 2] }, message: "ShapeError[embedding.ids]: expected (3), got (3,1)." },
    { shapes: { ids: [3], w: [4] }, message: "ShapeError[embedding.w]: expected (4,0), got (4)." },
    { shapes: { ids: [3], w: [4, 2], pos: [3], wpe: [5, 3] }, message: "ShapeError[embedding.wpe]: expected (5,2)" },
    { shapes: { ids: [3], w: [4, 2], wpe: [5, 2] }, message: "ShapeError[embedding.pos]: expected (3), got ()." },
  ],
});

describe("embedding of a computed matrix", () => {
  it("gathers rows of a temporary whose row count is dynamic", async () => {
    const device = await testDevice();
    const plan = new PlanBuilder(device, "gather");
    const rows = plan.dim("T", 5);
    const x = plan.input("x", [rows, 2]);
    const h = plan.temp([rows, 2], "h");
    zero(plan, h);
    add(plan, h, x);
    const last = plan.input("last", [plan.dim("B", 3)], "u32");
    plan.output("y", embedding.forward(plan, { ids: last, w: h }).out.y);
    const built = await plan.build();
    const x3 = Float32Array.of(1, 2, 3, 4, 5, 6);
    const { y } = await built.run({ T: 3, B: 2 }, { x: x3, last: Uint32Array.of(2, 0) });
    expect(Array.from(y as Float32Array)).toEqual([5, 6, 1, 2]);
    built.dispose();
  });

  it("refuses one that needs windows", async () => {
    const plan = new PlanBuilder(await testDevice(), "gather");
    const w = plan.temp([plan.dim("T", 100), 4], "h");
    expect(() => embedding.forward(plan, { ids: plan.temp([3]), w }, { windowBytes: 512 })).toThrow(
      "ShapeError[windows.h]: expected (<=128), got (T<=100,4).",
    );
  });
});

describe("embedding index", () => {
  it("lists distinct ids and their occurrences in ascending order", () => {
    const { uniq, off, order } = embeddingIndex([7, 2, 7, 0]);
    expect([Array.from(uniq), Array.from(off), Array.from(order)]).toEqual([
      [0, 2, 7],
      [0, 1, 2, 4],
      [3, 1, 0, 2],
    ]);
    expect(embeddingIndex([]).off).toEqual(Uint32Array.of(0));
  });

  it("refuses ids outside the table by name, entry and value", () => {
    const advice = "Use ids of this model's tokenizer.";
    expect(() => requireIndices("embedding.ids", [1, 4, 2], 4, advice)).toThrow(
      "IndexError[embedding.ids]: entry 1 is 4, the table has 4 rows. Use ids of this model's tokenizer.",
    );
    for (const bad of [-1, 1.5, Number.NaN]) {
      expect(() => requireIndices("embedding.ids", [bad], 4, advice)).toThrow(`entry 0 is ${bad}`);
    }
    requireIndices("embedding.ids", [0, 3], 4, advice);
  });

  it("comes as plan inputs when backward is given none, with fewer tokens than planned", async () => {
    const device = await testDevice();
    const plan = new PlanBuilder(device, "embedding");
    const rows = plan.dim("T", 6);
    const w = uploadTensor(device, "w", [4, 2], new Float32Array(8));
    const dw = uploadTensor(device, "dw", [4, 2], new Float32Array(8).fill(10));
    const wpe = uploadTensor(device, "wpe", [3, 2], new Float32Array(6));
    const dwpe = uploadTensor(device, "dwpe", [3, 2], new Float32Array(6));
    const ids = plan.input("ids", [rows], "u32");
    const pos = plan.input("pos", [rows], "u32");
    const dy = plan.input("dy", [rows, 2]);
    const { saved } = embedding.forward(plan, { ids, w, pos, wpe });
    embedding.backward(plan, saved, { y: dy }, { w: dw, wpe: dwpe });
    plan.output("dw", dw);
    plan.output("dwpe", dwpe);
    const built = await plan.build();
    const host = { ids: Uint32Array.of(3, 1, 3), pos: Uint32Array.of(0, 1, 0), dy: Float32Array.of(1, 2, 3, 4, 5, 6) };
    const index = embeddingIndexInputs(host.ids, host.pos);
    const got = await built.run({ T: 3, ...index.values }, { ...host, ...index.inputs });
    expect(Array.from(got.dw as Float32Array)).toEqual([10, 10, 13, 14, 10, 10, 16, 18]);
    expect(Array.from(got.dwpe as Float32Array)).toEqual([6, 8, 3, 4, 0, 0]);
    built.dispose();
    for (const t of [w, dw, wpe, dwpe]) if (t.storage.kind === "buffer") device.pool.release(t.storage.buffer);
  });
});
