import { rmsnorm } from "../../src/ops/rmsnorm.ts";
import { type HostTensor, opcheck } from "./opcheck.ts";

function reference(
  { x, w }: Readonly<Record<string, HostTensor>>,
  o: { eps: number; shift: number },
): Record<string, HostTensor> {
  if (x === undefined || w === undefined) throw new Error("x and w are required");
  const [rows = 0, cols = 0] = x.shape;
  const y = new Float64Array(x.data.length);
  for (let r = 0; r < rows; r++) {
    let square = 0;
    for (let c = 0; c < cols; c++) square += (x.data[r * cols + c] as number) ** 2;
    const rstd = 1 / Math.sqrt(square / cols + o.eps);
    for (let c = 0; c < cols; c++) {
      y[r * cols + c] = (x.data[r * cols + c] as number) * rstd * ((w.data[c] as number) + o.shift);
    }
  }
  return { y: { shape: x.shape, data: y } };
}

opcheck(rmsnorm, {
  reference,
  variants: [{ deviceClass: "software" }, { deviceClass: "gpu" }],
  cases: [
    { shapes: { x: [1, 1], w: [1] } },
    { shapes: { x: [1, 8], w: [8] } },
    { shapes: { x: [3, 65], w: [65] } },
    { shapes: { x: [67, 130], w: [130] }, options: { eps: 1e-6, shift: 1 } },
    { shapes: { x: [2, 64], w: [64] }, scale: 1e-3 },
    { shapes: { x: [35, 132], w: [132] } },
  ],
  bad: [
    { shapes: { x: [2, 64], w: [32] }, message: "ShapeError[rmsnorm.w]: expected (64), got (32)." },
    { shapes: { x: [2, 3, 4], w: [4] }, message: "ShapeError[rmsnorm.x]" },
  ],
});
