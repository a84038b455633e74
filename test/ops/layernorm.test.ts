import { layernorm } from "../../src/ops/layernorm.ts";
import { type HostTensor, opcheck } from "./opcheck.ts";

function reference({ x, w, b }: Readonly<Record<string, HostTensor>>, o: { eps: number }): Record<string, HostTensor> {
  if (x === undefined || w === undefined) throw new Error("x and w are required");
  const [rows = 0, cols = 0] = x.shape;
  const y = new Float64Array(x.data.length);
  for (let r = 0; r < rows; r++) {
    const row = Array.from(x.data.subarray(r * cols, (r + 1) * cols));
    const mean = row.reduce((s, v) => s + v, 0) / cols;
    const variance = row.reduce((s, v) => s + (v - mean) ** 2, 0) / cols;
    const rstd = 1 / Math.sqrt(variance + o.eps);
    for (const [c, v] of row.entries()) {
      y[r * cols + c] = (v - mean) * rstd * (w.data[c] as number) + (b?.data[c] ?? 0);
    }
  }
  return { y: { shape: x.shape, data: y } };
}

opcheck(layernorm, {
  reference,
  variants: [{ deviceClass: "software" }, { deviceClass: "gpu" }],
  cases: [
    { shapes: { x: [1, 2], w: [2], b: [2] } },
    { shapes: { x: [1, 8], w: [8] } },
    { shapes: { x: [3, 65], w: [65], b: [65] } },
    { shapes: { x: [67, 130], w: [130], b: [130] }, options: { eps: 1e-6 } },
    { shapes: { x: [2, 64], w: [64], b: [64] }, scale: 1e-3 },
    // A common offset of 100 with a spread of 1e-2: a variance by E[x^2] - E[x]^2 would be noise.
    {
      shapes: { x: [2, 33], w: [33], b: [33] },
      data: { x: Float32Array.from({ length: 66 }, (_, i) => 100 + 0.01 * Math.sin(i * i)) },
      tolerance: { forward: 2e-3, backward: 5e-3 },
    },
  ],
  bad: [
    { shapes: { x: [2, 64], w: [32], b: [64] }, message: "ShapeError[layernorm.w]: expected (64), got (32)." },
    { shapes: { x: [2, 64], w: [64], b: [63] }, message: "ShapeError[layernorm.b]: expected (64), got (63)." },
    { shapes: { x: [2, 3, 4], w: [4] }, message: "ShapeError[layernorm.x]" },
  ],
});
