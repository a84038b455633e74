import { type LinearOptions, linear } from "../../src/ops/linear.ts";
import { type HostTensor, opcheck } from "./opcheck.ts";

function reference(
  { x, w, bias, residual }: Readonly<Record<string, HostTensor>>,
  { layout }: LinearOptions,
): Record<string, HostTensor> {
  if (x === undefined || w === undefined) throw new Error("x and w are required");
  const [rows = 0, inner = 0] = x.shape;
  const outer = w.shape[layout === "out_in" ? 0 : 1] as number;
  const y = new Float64Array(rows * outer);
  for (let t = 0; t < rows; t++) {
    for (let n = 0; n < outer; n++) {
      let sum = (bias?.data[n] ?? 0) + (residual?.data[t * outer + n] ?? 0);
      for (let k = 0; k < inner; k++) {
        const weight = w.data[layout === "out_in" ? n * inner + k : k * outer + n] as number;
        sum += (x.data[t * inner + k] as number) * weight;
      }
      y[t * outer + n] = sum;
    }
  }
  return { y: { shape: [rows, outer], data: y } };
}

opcheck(linear, {
  reference,
  cases: [
    { shapes: { x: [1, 1], w: [1, 1], bias: [1], residual: [1, 1] } },
    { shapes: { x: [1, 8], w: [12, 8] } },
    { shapes: { x: [67, 20], w: [36, 20], bias: [36], residual: [67, 36] } },
    { shapes: { x: [67, 20], w: [20, 36], bias: [36], residual: [67, 36] }, options: { layout: "in_out" } },
    { shapes: { x: [33, 19], w: [19, 35] }, options: { layout: "in_out" } },
    { shapes: { x: [130, 17], w: [3, 17], bias: [3] } },
    { shapes: { x: [2, 64], w: [32, 64] }, scale: 1e-3 },
    // Windows of 16, 16 and 4 outputs; of 4, 4 and 3.
    { shapes: { x: [67, 20], w: [36, 20], bias: [36], residual: [67, 36] }, options: { windowBytes: 1280 } },
    { shapes: { x: [3, 16], w: [11, 16], bias: [11] }, options: { windowBytes: 256 } },
    // Windows of 16 and 4 inputs; of 64 and 3, whose sizes no four divides.
    {
      shapes: { x: [67, 20], w: [20, 36], bias: [36], residual: [67, 36] },
      options: { layout: "in_out", windowBytes: 2304 },
    },
    { shapes: { x: [5, 67], w: [67, 3], bias: [3] }, options: { layout: "in_out", windowBytes: 768 } },
  ],
  bad: [
    { shapes: { x: [2, 64], w: [32, 63] }, message: "ShapeError[linear.w]: expected (32,64), got (32,63)." },
    { shapes: { x: [2, 3, 4], w: [4, 3] }, message: "ShapeError[linear.x]: expected (2,3), got (2,3,4)." },
    { shapes: { x: [2, 4], w: [3, 4], bias: [4] }, message: "ShapeError[linear.bias]: expected (3), got (4)." },
    { shapes: { x: [2, 4], w: [3, 4], residual: [3, 3] }, message: "ShapeError[linear.residual]: expected (2,3)" },
  ],
});
