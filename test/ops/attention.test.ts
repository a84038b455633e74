// Plan: opcheck on small cases of every head size; larger packed, causal and tree cases against a float64 backward by
// explicit lists of visible rows, on every kind of tile; a row's bits do not depend on what else is packed; rows past T
// and rows that see nothing; windows; refusals.
import { describe, expect, it } from "#test";
import { Rng, seedKey } from "../../src/core/rng.ts";
import type { Capabilities } from "../../src/gpu/capabilities.ts";
import { PlanBuilder } from "../../src/gpu/plan_builder.ts";
import { uploadTensor } from "../../src/gpu/readback.ts";
import { bufferTensor } from "../../src/gpu/tensor.ts";
import { attentionBlocks } from "../../src/ops/attention/blocks.ts";
import { attentionVariant } from "../../src/ops/attention/select.ts";
import { type AttentionOptions, attention } from "../../src/ops/attention.ts";
import {
  attentionGradient,
  attentionReference,
  type Heads,
  packed,
  randomForest,
  type Visibility,
} from "./attention_reference.ts";
import { expectClose, type HostTensor, type OpCase, opcheck, testDeviceWith } from "./opcheck.ts";

function headsOf({ heads, kvHeads, headDim, scale }: AttentionOptions): Heads {
  return { heads, kvHeads, headDim, scale: scale ?? 1 / Math.sqrt(headDim) };
}

/** Visible rows as the operation defines them. */
function listsOf(end: ArrayLike<number>): number[][] {
  return Array.from({ length: end.length }, (_, i) => {
    const list: number[] = [];
    for (let j = 0; j <= i; j++) if (i < (end[j] as number)) list.push(j);
    return list;
  });
}

function smallCase(options: AttentionOptions, lengths: readonly number[], scale = 1): OpCase<AttentionOptions> {
  const { end } = packed(lengths);
  const blockEnd = attentionBlocks(end);
  const width = (options.heads + 2 * options.kvHeads) * options.headDim;
  return {
    shapes: { qkv: [end.length, width], end: [end.length], blockEnd: [blockEnd.length] },
    data: { end, blockEnd },
    options,
    scale,
  };
}

opcheck(attention, {
  reference({ qkv, end }: Readonly<Record<string, HostTensor>>, options) {
    if (qkv === undefined || end === undefined) throw new Error("qkv and end are required");
    const o = attentionReference(qkv.data, headsOf(options), listsOf(end.data));
    return { o: { shape: [end.data.length, options.heads * options.headDim], data: o } };
  },
  cases: [
    smallCase({ heads: 1, kvHeads: 1, headDim: 8 }, [1]),
    smallCase({ heads: 4, kvHeads: 2, headDim: 16 }, [5, 12]),
    smallCase({ heads: 2, kvHeads: 1, headDim: 5, scale: 0.7 }, [3, 1, 15]),
    smallCase({ heads: 1, kvHeads: 1, headDim: 20 }, [18], 1e-3),
  ],
  bad: [
    {
      shapes: { qkv: [4, 100], end: [4], blockEnd: [1] },
      message: "ShapeError[attention.qkv]: expected (4,192), got (4,100).",
    },
    {
      shapes: { qkv: [4, 192], end: [3], blockEnd: [1] },
      message: "ShapeError[attention.end]: expected (4), got (3).",
    },
    {
      shapes: { qkv: [33, 192], end: [33], blockEnd: [1] },
      message: "ShapeError[attention.blockEnd]: expected (2), got (1). Pass attentionBlocks(end).",
    },
  ],
});

interface Run {
  readonly o: Float32Array;
  readonly dqkv: Float32Array;
}

/** Forward and backward of `rows` rows in a plan made for `maxRows`; rows past `rows` hold NaN on the device. */
async function run(
  caps: Partial<Capabilities>,
  s: Heads,
  { end }: Visibility,
  qkv: Float32Array,
  dO: Float32Array,
  spare = 0,
): Promise<Run> {
  const device = await testDeviceWith(caps);
  const rows = end.length;
  const withSpare = (data: Float32Array): Float32Array => {
    const out = new Float32Array((data.length / rows) * (rows + spare)).fill(Number.NaN);
    out.set(data);
    return out;
  };
  const plan = new PlanBuilder(device, "attention");
  const T = plan.dim("T", rows + spare);
  const lasting = (name: string, data: Float32Array) => {
    const whole = withSpare(data);
    const uploaded = uploadTensor(device, name, [whole.length], whole);
    if (uploaded.storage.kind !== "buffer") throw new Error("an uploaded tensor has a buffer");
    return { buffer: uploaded.storage.buffer, tensor: bufferTensor(uploaded.storage.buffer, [T, data.length / rows]) };
  };
  const [x, g] = [lasting("qkv", qkv), lasting("dO", dO)];
  const inputs = {
    qkv: x.tensor,
    end: plan.input("end", [T], "u32"),
    blockEnd: plan.input("block_end", [Math.ceil((rows + spare) / 32)], "u32"),
  };
  const { out, saved } = attention.forward(plan, inputs, s);
  const grads = attention.backward(plan, saved, { o: g.tensor }, {});
  plan.output("o", out.o);
  if (grads.qkv !== undefined) plan.output("dqkv", grads.qkv);
  const built = await plan.build();
  const read = await built.run({ T: rows }, { end, block_end: attentionBlocks(end) });
  built.dispose();
  for (const { buffer } of [x, g]) device.pool.release(buffer);
  return { o: read.o as Float32Array, dqkv: read.dqkv as Float32Array };
}

function normal(n: number, rng: Rng): Float32Array {
  return Float32Array.from({ length: n }, () => rng.normal());
}

function draw(s: Heads, rows: number, seed: number): { qkv: Float32Array; dO: Float32Array } {
  const rng = new Rng(seedKey(seed));
  return {
    qkv: normal(rows * (s.heads + 2 * s.kvHeads) * s.headDim, rng),
    dO: normal(rows * s.heads * s.headDim, rng),
  };
}

async function expectMatch(caps: Partial<Capabilities>, s: Heads, v: Visibility, spare = 0): Promise<void> {
  const { qkv, dO } = draw(s, v.end.length, 40 + v.end.length);
  const got = await run(caps, s, v, qkv, dO, spare);
  const what = `T=${v.end.length} ${JSON.stringify(s)} ${JSON.stringify(caps)}`;
  expectClose(`o ${what}`, got.o, attentionReference(qkv, s, v.seen), 2e-6);
  expectClose(`dqkv ${what}`, got.dqkv, attentionGradient(qkv, s, v.seen, dO), 1e-5);
}

const h = (heads: number, kvHeads: number, headDim: number): Heads => ({
  heads,
  kvHeads,
  headDim,
  scale: 1 / Math.sqrt(headDim),
});

/** Tiles of the adapters that this one is not. */
const otherTiles: readonly Partial<Capabilities>[] = [{ subgroupWidth: 0 }, { deviceClass: "gpu" }];

describe("attention against float64 by lists of visible rows", () => {
  it("has the reference's visibility in `end`", () => {
    for (const v of [packed([3, 1, 40]), randomForest(130, new Rng(seedKey(3)))]) {
      expect(listsOf(v.end)).toEqual(v.seen as number[][]);
    }
  });

  it("random trees", async () => {
    for (const rows of [33, 130]) await expectMatch({}, h(4, 2, 32), randomForest(rows, new Rng(seedKey(rows))));
    await expectMatch({}, h(6, 3, 16), randomForest(65, new Rng(seedKey(65))));
  });

  it("packed sequences, with garbage past T", async () => {
    await expectMatch({}, h(4, 2, 32), packed([1, 70, 3, 33, 20]), 70);
    await expectMatch({}, h(2, 2, 64), packed([40, 9]), 1);
  });

  it("plain causal", async () => {
    for (const rows of [1, 33]) await expectMatch({}, h(4, 2, 32), packed([rows]));
  });

  for (const caps of otherTiles) {
    it(`the tiles of ${JSON.stringify(caps)}`, async () => {
      await expectMatch(caps, h(4, 2, 16), randomForest(130, new Rng(seedKey(4))), 5);
      await expectMatch(caps, h(2, 1, 7), packed([30, 3]));
    });
  }
});

describe("attention of a row", () => {
  it("has the same bits whatever is packed around it", async () => {
    const s = h(2, 1, 16);
    const alone = packed([21]);
    const { qkv, dO } = draw(s, 21, 9);
    const rest = draw(s, 13, 10);
    const join = (a: Float32Array, b: Float32Array): Float32Array => Float32Array.from([...a, ...b]);
    for (const caps of [{}, ...otherTiles]) {
      const one = await run(caps, s, alone, qkv, dO);
      const after = await run(caps, s, packed([13, 21]), join(rest.qkv, qkv), join(rest.dO, dO));
      expect(after.o.slice(-one.o.length)).toEqual(one.o);
      expect(after.dqkv.slice(-one.dqkv.length)).toEqual(one.dqkv);
    }
  });

  it("honours an end that is not nested: a window of four", async () => {
    const end = Uint32Array.from({ length: 70 }, (_, j) => Math.min(70, j + 4));
    await expectMatch({}, h(2, 1, 16), { end, seen: listsOf(end) });
  });

  it("is 0, and so are its gradients, when it sees nothing", async () => {
    const s = h(1, 1, 16);
    const { qkv, dO } = draw(s, 3, 11);
    const got = await run({}, s, { end: Uint32Array.of(1, 0, 3), seen: [] }, qkv, dO);
    expect(Array.from(got.o.slice(16, 32))).toEqual(new Array(16).fill(0));
    expect(Array.from(got.dqkv.slice(48, 96))).toEqual(new Array(48).fill(0));
  });
});

describe("attention", () => {
  it("refuses heads that cannot share the key heads", async () => {
    const plan = new PlanBuilder(await testDeviceWith({}), "attention");
    const inputs = {
      qkv: plan.temp([4, 7 * 8]),
      end: plan.temp([4], "end", "u32"),
      blockEnd: plan.temp([1], "block_end", "u32"),
    };
    expect(() => attention.forward(plan, inputs, { heads: 3, kvHeads: 2, headDim: 8 })).toThrow(
      "Attention cannot share 2 key heads among 3 query heads.",
    );
  });

  it("keeps fewer rows in registers the longer the heads are", async () => {
    const { caps } = await testDeviceWith({ deviceClass: "software", subgroupWidth: 8 });
    const rows = (pass: "forward" | "dkv", headDim: number) => attentionVariant(caps, pass, headDim).rowsPerThread;
    expect([rows("forward", 128), rows("dkv", 64), rows("dkv", 128)]).toEqual([2, 2, 1]);
  });
});
