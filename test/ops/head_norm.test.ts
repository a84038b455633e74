import { headNorm } from "../../src/ops/head_norm.ts";
import { type HostTensor, opcheck } from "./opcheck.ts";

interface Options {
  heads: number;
  kvHeads: number;
  headDim: number;
  eps: number;
  shift: number;
}

function reference(inputs: Readonly<Record<string, HostTensor>>, o: Options): Record<string, HostTensor> {
  const { qkv, wq, wk } = inputs as Record<"qkv" | "wq" | "wk", HostTensor>;
  const y = qkv.data.slice();
  const heads = o.heads + 2 * o.kvHeads;
  for (let item = 0; item < qkv.data.length / o.headDim; item++) {
    const head = item % heads;
    if (head >= o.heads + o.kvHeads) continue;
    const w = head < o.heads ? wq : wk;
    const at = item * o.headDim;
    const x = Array.from(qkv.data.subarray(at, at + o.headDim));
    const rstd = 1 / Math.sqrt(x.reduce((s, v) => s + v * v, 0) / o.headDim + o.eps);
    for (const [c, v] of x.entries()) y[at + c] = v * rstd * ((w.data[c] as number) + o.shift);
  }
  return { y: { shape: qkv.shape, data: y } };
}

opcheck(headNorm, {
  reference,
  variants: [{ deviceClass: "software" }, { deviceClass: "gpu" }],
  cases: [
    { shapes: { qkv: [1, 3], wq: [1], wk: [1] }, options: { heads: 1, kvHeads: 1, headDim: 1 } },
    { shapes: { qkv: [5, 40], wq: [5], wk: [5] }, options: { heads: 4, kvHeads: 2, headDim: 5, eps: 1e-5 } },
    { shapes: { qkv: [35, 48], wq: [16], wk: [16] }, options: { heads: 1, kvHeads: 1, headDim: 16, shift: 1 } },
    { shapes: { qkv: [2, 280], wq: [70], wk: [70] }, options: { heads: 2, kvHeads: 1, headDim: 70 } },
    { shapes: { qkv: [2, 12], wq: [4], wk: [4] }, options: { heads: 1, kvHeads: 1, headDim: 4 }, scale: 1e-3 },
    // Heads of zeros have finite gradients (tunix 2310).
    { shapes: { qkv: [2, 12], wq: [4], wk: [4] }, options: { heads: 1, kvHeads: 1, headDim: 4 }, scale: 0 },
  ],
  bad: [
    {
      shapes: { qkv: [2, 100], wq: [64], wk: [64] },
      message: "ShapeError[head_norm.qkv]: expected (2,192), got (2,100).",
    },
    { shapes: { qkv: [2, 192], wq: [63], wk: [64] }, message: "ShapeError[head_norm.wq]: expected (64), got (63)." },
    { shapes: { qkv: [2, 192], wq: [64], wk: [1] }, message: "ShapeError[head_norm.wk]: expected (64), got (1)." },
  ],
});
