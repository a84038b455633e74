import { describe, expect, it } from "#test";
import { PlanBuilder } from "../../src/gpu/plan_builder.ts";
import { uploadTensor } from "../../src/gpu/readback.ts";
import { add } from "../../src/ops/add.ts";
import { zero } from "../../src/ops/fill.ts";
import type { Op } from "../../src/ops/op.ts";
import { type RopeIn, type RopeOptions, type RopeSaved, rope } from "../../src/ops/rope.ts";
import { expectClose, type HostTensor, opcheck, testDevice } from "./opcheck.ts";

/** Angles are f32 products, as Hugging Face computes them; their cosine and sine are exact here. */
function reference(inputs: Readonly<Record<string, HostTensor>>, o: RopeOptions): Record<string, HostTensor> {
  const { qkv, pos, invFreq } = inputs as Record<"qkv" | "pos" | "invFreq", HostTensor>;
  const y = qkv.data.slice();
  const half = invFreq.data.length;
  const stride = (o.heads + 2 * o.kvHeads) * o.headDim;
  for (const [t, p] of pos.data.entries()) {
    for (let h = 0; h < o.heads + o.kvHeads; h++) {
      for (const [i, f] of invFreq.data.entries()) {
        const at = t * stride + h * o.headDim + i;
        const angle = Math.fround(p * f);
        const [c, s] = [Math.cos(angle) * o.attentionScaling, Math.sin(angle) * o.attentionScaling];
        const [a, b] = [qkv.data[at] as number, qkv.data[at + half] as number];
        y[at] = a * c - b * s;
        y[at + half] = b * c + a * s;
      }
    }
  }
  return { y: { shape: qkv.shape, data: y } };
}

/** Rope on copies, so that opcheck may run backward several times on one dy. */
const copied: Op<RopeIn, { readonly y: import("../../src/gpu/tensor.ts").Tensor }, RopeSaved, RopeOptions> = {
  ...rope,
  forward(plan, inputs, options) {
    const qkv = plan.temp(inputs.qkv.shape, "copy");
    zero(plan, qkv);
    add(plan, qkv, inputs.qkv);
    return rope.forward(plan, { ...inputs, qkv }, options);
  },
  backward(plan, saved, { y: dy }, into) {
    const turned = plan.temp(dy.shape, "copy");
    zero(plan, turned);
    add(plan, turned, dy);
    const { qkv } = rope.backward(plan, saved, { y: turned }, {});
    if (into.qkv === undefined || qkv === undefined) return { qkv };
    add(plan, into.qkv, qkv);
    return { qkv: into.qkv };
  },
};

function frequencies(half: number, theta = 10000): Float32Array {
  return Float32Array.from({ length: half }, (_, i) => theta ** (-i / half));
}

opcheck(copied, {
  reference,
  variants: [{ deviceClass: "software" }, { deviceClass: "gpu" }],
  cases: [
    {
      shapes: { qkv: [1, 6], pos: [1], invFreq: [1] },
      data: { pos: Uint32Array.of(3), invFreq: frequencies(1) },
      options: { heads: 1, kvHeads: 1, headDim: 2 },
    },
    {
      shapes: { qkv: [5, 48], pos: [5], invFreq: [3] },
      data: { pos: Uint32Array.of(0, 1, 7, 0, 1), invFreq: frequencies(3) },
      options: { heads: 4, kvHeads: 2, headDim: 6, attentionScaling: 1.25 },
    },
    // Partial rotary: 4 of 10 dimensions.
    {
      shapes: { qkv: [67, 30], pos: [67], invFreq: [2] },
      data: { pos: Uint32Array.from({ length: 67 }, (_, i) => i * 31), invFreq: frequencies(2) },
      options: { heads: 1, kvHeads: 1, headDim: 10 },
    },
    // Far positions, where a device's own sine may be off by much.
    {
      shapes: { qkv: [8, 24], pos: [8], invFreq: [4] },
      data: { pos: Uint32Array.of(1e3, 4e3, 9999, 2e4, 32767, 65535, 99999, 1e5), invFreq: frequencies(4) },
      options: { heads: 1, kvHeads: 1, headDim: 8 },
    },
  ],
  bad: [
    {
      shapes: { qkv: [2, 100], pos: [2], invFreq: [32] },
      message: "ShapeError[rope.qkv]: expected (2,192), got (2,100).",
    },
    { shapes: { qkv: [2, 192], pos: [3], invFreq: [32] }, message: "ShapeError[rope.pos]: expected (2), got (3)." },
    {
      shapes: { qkv: [2, 192], pos: [2], invFreq: [33] },
      message: "ShapeError[rope.invFreq]: expected (1..32), got (33).",
    },
  ],
});

describe("rope in place", () => {
  it("writes to its input's storage and turns back exactly as far", async () => {
    const device = await testDevice();
    const plan = new PlanBuilder(device, "rope");
    const data = Float32Array.from({ length: 3 * 24 }, (_, i) => Math.sin(i));
    const qkv = uploadTensor(device, "qkv", [3, 24], data);
    const pos = uploadTensor(device, "pos", [3], Uint32Array.of(0, 5, 900));
    const invFreq = uploadTensor(device, "invFreq", [4], frequencies(4));
    const options = { heads: 1, kvHeads: 1, headDim: 8 };
    const { out, saved } = rope.forward(plan, { qkv, pos, invFreq }, options);
    expect(out.y).toBe(qkv);
    expect(rope.backward(plan, saved, { y: out.y }, {}).qkv).toBe(qkv);
    plan.output("qkv", qkv);
    const built = await plan.build();
    const { qkv: back } = await built.run({}, {});
    expectClose("qkv turned and turned back", back as Float32Array, data, 1e-6);
    expect(() => rope.backward(plan, saved, { y: out.y }, { qkv })).toThrow("ShapeError[rope.into.qkv]");
    built.dispose();
    for (const t of [qkv, pos, invFreq]) if (t.storage.kind === "buffer") device.pool.release(t.storage.buffer);
  });
});
