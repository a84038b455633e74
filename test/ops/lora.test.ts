// Plan: one part over everything, q and v of a fused projection with k left out, three parts, gate and up; ranks 1, 3, 5
// and 16; one row, a row count that is no multiple of the tile, more rows than a workgroup; refusals.

import type { Tensor } from "../../src/gpu/tensor.ts";
import { add } from "../../src/ops/add.ts";
import { zero } from "../../src/ops/fill.ts";
import { type LoraIn, type LoraOptions, type LoraSaved, lora } from "../../src/ops/lora.ts";
import type { Op } from "../../src/ops/op.ts";
import { type HostTensor, opcheck } from "./opcheck.ts";

function reference(inputs: Readonly<Record<string, HostTensor>>, o: LoraOptions): Record<string, HostTensor> {
  const { x, a, b, y } = inputs as Record<"x" | "a" | "b" | "y", HostTensor>;
  const [rows, inner] = x.shape as [number, number];
  const [, rank] = b.shape as [number, number];
  const columns = y.shape[1] as number;
  const out = y.data.slice();
  let bRow = 0;
  for (const [p, part] of (o.parts.length === 0 ? [{ column: 0, columns }] : o.parts).entries()) {
    for (let n = 0; n < part.columns; n++, bRow++) {
      for (let t = 0; t < rows; t++) {
        let sum = 0;
        for (let k = 0; k < rank; k++) {
          let u = 0;
          for (let i = 0; i < inner; i++)
            u += (x.data[t * inner + i] as number) * (a.data[(p * rank + k) * inner + i] as number);
          sum += u * (b.data[bRow * rank + k] as number);
        }
        out[t * columns + part.column + n] = (out[t * columns + part.column + n] as number) + o.scale * sum;
      }
    }
  }
  return { y: { shape: y.shape, data: out } };
}

/** LoRA on a copy of y, which it changes in place. */
const copied: Op<LoraIn, { readonly y: Tensor }, LoraSaved, LoraOptions> = {
  ...lora,
  forward(plan, inputs, options) {
    const y = plan.temp(inputs.y.shape, "copy");
    zero(plan, y);
    add(plan, y, inputs.y);
    return lora.forward(plan, { ...inputs, y }, options);
  },
};

opcheck(copied, {
  reference,
  variants: [{ deviceClass: "software" }, { deviceClass: "gpu" }],
  cases: [
    { shapes: { x: [1, 1], a: [1, 1], b: [1, 1], y: [1, 1] } },
    { shapes: { x: [5, 12], a: [3, 12], b: [9, 3], y: [5, 9] }, options: { scale: 0.5 } },
    { shapes: { x: [70, 16], a: [16, 16], b: [8, 16], y: [70, 8] }, options: { scale: 2 } },
    {
      shapes: { x: [6, 8], a: [8, 8], b: [12, 4], y: [6, 16] },
      options: {
        scale: 1.5,
        parts: [
          { column: 0, columns: 8 },
          { column: 12, columns: 4 },
        ],
      },
    },
    {
      shapes: { x: [7, 20], a: [15, 20], b: [76, 5], y: [7, 76] },
      options: {
        parts: [
          { column: 0, columns: 70 },
          { column: 70, columns: 3 },
          { column: 73, columns: 3 },
        ],
      },
    },
    {
      shapes: { x: [3, 8], a: [2, 8], b: [5, 2], y: [3, 11] },
      options: { parts: [{ column: 6, columns: 5 }] },
    },
  ],
  bad: [
    {
      shapes: { x: [2, 8], a: [3, 8], b: [4, 2], y: [2, 4] },
      message: "ShapeError[lora.a]: expected (2,8), got (3,8). Pass A (P*r,K) and B (S,r) of the parts",
    },
    {
      shapes: { x: [2, 8], a: [2, 8], b: [5, 2], y: [2, 4] },
      message: "ShapeError[lora.b]: expected (4,2), got (5,2).",
    },
  ],
});
