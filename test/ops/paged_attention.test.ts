/**
 * Cases: heads of 1, odd, 32 and wide; grouped queries; one key, a page's edge, a block's edge, several blocks; rows of
 * several sequences mixed; scores large and small; pages of f32 and of f16. Equal bits: alone, in a batch, with other
 * pages, chunk by chunk, in tiles of rows.
 */
import { describe, expect, it } from "#test";
import { Rng, seedKey } from "../../src/core/rng.ts";
import { PlanBuilder } from "../../src/gpu/plan_builder.ts";
import { uploadTensor } from "../../src/gpu/readback.ts";
import type { Tensor } from "../../src/gpu/tensor.ts";
import { kvWrite } from "../../src/ops/kv_pages.ts";
import { pagedAttention } from "../../src/ops/paged_attention.ts";
import { none } from "../../src/ops/sample_state.ts";
import { expectClose, testDevice, testDeviceWith } from "./opcheck.ts";
import { asHalf, attend, reference, scene } from "./paged_scene.ts";

/** The kernels of software adapters with and without subgroups, and of GPUs. */
const variants = [
  { deviceClass: "software" },
  { deviceClass: "software", subgroupWidth: 0 },
  { deviceClass: "gpu" },
] as const;
const named = (caps: (typeof variants)[number]): string =>
  "subgroupWidth" in caps ? `${caps.deviceClass} without subgroups` : caps.deviceClass;

describe("paged attention", () => {
  for (const caps of variants) {
    for (const [heads, kvHeads, headDim, lengths, size] of [
      [1, 1, 1, [3], 1],
      [2, 2, 32, [1, 17, 65], 1],
      [4, 2, 5, [16, 64, 33], 2],
      [6, 1, 12, [200], 1],
      [2, 1, 80, [70], 0.5],
      [2, 2, 8, [40, 2], 8],
      [1, 1, 4, [20], 1e-3],
    ] as const) {
      const name = `H ${heads} KV ${kvHeads} D ${headDim}, sequences of ${lengths.join(", ")}, size ${size}`;
      // Scores of some 180 carry an f32 error near 1e-5, and their weights the same relative to themselves.
      const tolerance = size === 8 ? 3e-5 : 5e-6;
      it(`equals float64: ${name} on ${named(caps)}`, async () => {
        const device = await testDeviceWith(caps);
        const before = device.pool.usage.buffers;
        const s = scene({ heads, kvHeads, headDim, scale: 1 / Math.sqrt(headDim) }, lengths, size, headDim);
        const all = s.rows.map((_, r) => r);
        const order = new Rng(seedKey(4)).shuffled(all);
        const got = await attend(device, s, [order]);
        for (const r of all) expectClose(`row ${r}`, got.get(r) as Float32Array, reference(s, r), tolerance);
        expect(device.pool.usage.buffers).toBe(before);
      });
    }

    it(`passes values through where every score is far below 0 on ${named(caps)}`, async () => {
      const s = scene({ heads: 1, kvHeads: 1, headDim: 10, scale: 1 }, [2]);
      for (const row of s.qkv) row.fill(10, 0, 10).fill(-10, 10, 20);
      s.qkv[1]?.set((s.qkv[0] as Float32Array).subarray(20), 20);
      const got = await attend(await testDeviceWith(caps), s, [[0, 1]]);
      for (const o of got.values()) expect(o).toEqual((s.qkv[0] as Float32Array).slice(20));
    });

    for (const [heads, kvHeads, headDim] of [
      [2, 1, 32],
      [4, 4, 16],
      [3, 1, 20],
    ] as const) {
      const sizes = `H ${heads} KV ${kvHeads} D ${headDim}`;
      it(`gives equal bits alone, in a batch, in chunks and from other pages: ${sizes} on ${named(caps)}`, async () => {
        const device = await testDeviceWith(caps);
        const s = scene({ heads, kvHeads, headDim, scale: 0.2 }, [150, 40, 7, 90]);
        const all = s.rows.map((_, r) => r);
        const whole = await attend(device, s, [all]);
        const chunks: number[][] = [];
        for (let at = 0; at < all.length; at += 37) chunks.push(all.slice(at, at + 37));
        const first = all.filter((r) => s.rows[r]?.[0] === 0);
        const moved = { ...s, tables: s.tables.map((t) => t.map((p) => s.pages - 1 - p)) };
        const others = {
          chunks: await attend(device, s, chunks),
          "one by one": await attend(
            device,
            s,
            first.map((r) => [r]),
          ),
          "other pages": await attend(device, moved, [all]),
          "in tiles": await attend(device, s, [all], { tiled: true }),
          "chunks in tiles": await attend(device, s, chunks, { tiled: true }),
        };
        for (const [name, got] of Object.entries(others)) {
          for (const [r, o] of got) expect(`${name} ${r} ${o.join()}`).toBe(`${name} ${r} ${whole.get(r)?.join()}`);
        }
      });
    }
  }

  for (const caps of variants) {
    for (const [heads, kvHeads, headDim] of [
      [4, 2, 64],
      [3, 1, 12],
      [2, 2, 128],
    ] as const) {
      it(`keeps keys and values as f16: H ${heads} KV ${kvHeads} D ${headDim} on ${named(caps)}`, async () => {
        const device = await testDeviceWith(caps);
        const s = scene({ heads, kvHeads, headDim, scale: 1 / Math.sqrt(headDim) }, [70, 3, 33], 1, headDim);
        const all = s.rows.map((_, r) => r);
        const got = await attend(device, s, [all], { format: "f16", tiled: true });
        const untiled = await attend(device, s, [all], { format: "f16" });
        // The reference attends the rounded keys and values: what differs beyond rounding them is a fault.
        const keys = heads * headDim;
        const rounded = s.qkv.map((row) => Float32Array.from(row, (x, i) => (i < keys ? x : asHalf(x))));
        for (const r of all) {
          expectClose(`row ${r}`, got.get(r) as Float32Array, reference({ ...s, qkv: rounded }, r), 5e-6);
          expect(got.get(r)?.join()).toBe(untiled.get(r)?.join());
        }
      });
    }

    it(`a row of a tile is not touched by NaN in the rows after it on ${named(caps)}`, async () => {
      const s = scene({ heads: 2, kvHeads: 1, headDim: 8, scale: 1 }, [70]);
      const clean = await attend(await testDeviceWith(caps), s, [s.rows.map((_, r) => r)], { tiled: true });
      s.qkv[69]?.fill(Number.NaN);
      const got = await attend(await testDeviceWith(caps), s, [s.rows.map((_, r) => r)], { tiled: true });
      for (let r = 0; r < 69; r++) expect(got.get(r)?.join()).toBe(clean.get(r)?.join());
      expect(got.get(69)?.every(Number.isNaN)).toBe(true);
    });
  }

  it("cuts what no half can hold, and refuses f16 for heads of 6", async () => {
    const device = await testDevice();
    const s = scene({ heads: 1, kvHeads: 1, headDim: 4, scale: 1 }, [1]);
    s.qkv[0]?.set([1e6, -1e6, 2, 0], 8);
    const got = await attend(device, s, [[0]], { format: "f16" });
    expect(Array.from(got.get(0) as Float32Array)).toEqual([65504, -65504, 2, 0]);
    const odd = scene({ heads: 1, kvHeads: 1, headDim: 6, scale: 1 }, [1]);
    await expect(attend(device, odd, [[0]], { format: "f16" })).rejects.toThrow(
      "Heads of 6 numbers cannot be cached as f16: their width is no multiple of 4.",
    );
  });

  it("leaves rows without a slot out of the cache, and dims refuse what does not fit", async () => {
    const device = await testDevice();
    const plan = new PlanBuilder(device, "kv");
    const s = { heads: 1, kvHeads: 1, headDim: 2 };
    const kv = {
      k: uploadTensor(device, "k", [1, 16, 2], new Float32Array(32)),
      v: uploadTensor(device, "v", [1, 16, 2], new Float32Array(32)),
    };
    const qkv = plan.input("qkv", [3, 6]);
    const slots = plan.input("slots", [3], "u32");
    kvWrite(plan, s, qkv, slots, kv);
    plan.output("k", kv.k);
    plan.output("v", kv.v);
    const t = (...shape: number[]): Tensor => plan.temp(shape, "t");
    const good = { qkv, kv, pages: t(1, 1), seq: t(3), pos: t(3) };
    const o = { ...s, scale: 1 };
    expect(() => kvWrite(plan, s, qkv, t(2), kv)).toThrow("ShapeError[kv_write.slots]: expected (3), got (2).");
    expect(() => kvWrite(plan, s, qkv, slots, { ...kv, v: t(1, 8, 2) })).toThrow(
      "ShapeError[kv_write.v]: expected (1,16,2)",
    );
    expect(() => pagedAttention(plan, { ...good, pos: t(4) }, o)).toThrow("ShapeError[paged_attention.pos]");
    expect(() => pagedAttention(plan, { ...good, qkv: t(3, 5) }, o)).toThrow("ShapeError[paged_attention.qkv]");
    expect(() => pagedAttention(plan, { ...good, qkv: t(3, 14) }, { ...o, heads: 3, kvHeads: 2 })).toThrow(
      "ShapeError",
    );
    const huge = { k: t(2 ** 25, 16, 2), v: kv.v };
    expect(() => kvWrite(plan, s, qkv, slots, huge)).toThrow("Lower model.kvTokens.");
    const built = await plan.build();
    const data = Float32Array.from({ length: 18 }, (_, i) => i);
    const read = await built.run({}, { qkv: data, slots: Uint32Array.of(3, none, 0) });
    expect(Array.from((read.k as Float32Array).subarray(0, 8))).toEqual([14, 15, 0, 0, 0, 0, 2, 3]);
    expect(Array.from((read.v as Float32Array).subarray(0, 8))).toEqual([16, 17, 0, 0, 0, 0, 4, 5]);
    built.dispose();
    for (const x of [kv.k, kv.v]) if (x.storage.kind === "buffer") device.pool.release(x.storage.buffer);
  });
});
