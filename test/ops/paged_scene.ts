/** Scenes of paged attention: sequences in pages, rows to compute, and the same in float64. */
import { Rng, seedKey } from "../../src/core/rng.ts";
import type { Device } from "../../src/gpu/device.ts";
import { PlanBuilder } from "../../src/gpu/plan_builder.ts";
import { uploadTensor } from "../../src/gpu/readback.ts";
import type { Tensor } from "../../src/gpu/tensor.ts";
import { type KvFormat, kvFormatBytes, kvWrite, pageTokens } from "../../src/ops/kv_pages.ts";
import { pagedTileRows } from "../../src/ops/paged_attention/select.ts";
import { type PagedAttentionOptions, pagedAttention } from "../../src/ops/paged_attention.ts";
import { none } from "../../src/ops/sample_state.ts";

/** Rows in the order they are computed; `calls` cuts them into dispatches. */
interface Scene {
  options: PagedAttentionOptions;
  /** (sequence, position) of each row; a sequence's positions ascend from 0. */
  rows: readonly (readonly [number, number])[];
  /** Projections of each row. */
  qkv: readonly Float32Array[];
  /** Page of each block of 16 positions, per sequence. */
  tables: readonly (readonly number[])[];
  pages: number;
}

export function scene(options: PagedAttentionOptions, lengths: readonly number[], scale = 1, seed = 1): Scene {
  const rng = new Rng(seedKey(seed));
  const width = (options.heads + 2 * options.kvHeads) * options.headDim;
  const rows = lengths.flatMap((n, s) => Array.from({ length: n }, (_, p) => [s, p] as const));
  const qkv = rows.map(() => Float32Array.from({ length: width }, () => scale * rng.normal()));
  const needed = lengths.map((n) => Math.ceil(n / pageTokens));
  const free = rng.shuffled(Array.from({ length: needed.reduce((a, b) => a + b, 3) }, (_, i) => i));
  const tables = needed.map((n) => free.splice(0, n));
  return { options, rows, qkv, tables, pages: needed.reduce((a, b) => a + b, 3) };
}

/** Pages full of NaN. */
function freshPages(device: Device, { pages, options: o }: Scene, format: KvFormat): { k: Tensor; v: Tensor } {
  const shape = [pages, pageTokens, (o.kvHeads * o.headDim * kvFormatBytes[format]) / 4];
  const words = shape.reduce((a, b) => a * b, 1);
  const junk = format === "f32" ? new Float32Array(words).fill(Number.NaN) : new Uint32Array(words).fill(0x7e007e00);
  const tensor = (name: string): Tensor => uploadTensor(device, name, shape, junk);
  return { k: tensor("k"), v: tensor("v") };
}

/** Runs of at most `most` rows at consecutive positions of one sequence: first row and length of each. */
function tilesOf(rows: readonly (readonly [number, number])[], most: number): number[] {
  const out: number[] = [];
  for (const [i, [q, p]] of rows.entries()) {
    const [before, at] = rows[i - 1] ?? [-1, -1];
    const length = out.at(-1) ?? most;
    if (before === q && at + 1 === p && length < most) out[out.length - 1] = length + 1;
    else out.push(i, 1);
  }
  return out;
}

/** Writes and attends the chosen rows in the given calls over one cache; outputs by row. */
export async function attend(
  device: Device,
  s: Scene,
  calls: readonly (readonly number[])[],
  { format = "f32", tiled = false }: { format?: KvFormat; tiled?: boolean } = {},
): Promise<Map<number, Float32Array>> {
  const { heads, kvHeads, headDim } = s.options;
  const width = (heads + 2 * kvHeads) * headDim;
  const maxPages = Math.max(...s.tables.map((t) => t.length));
  const kv = freshPages(device, s, format);
  const plan = new PlanBuilder(device, "paged");
  const T = plan.dim("T", Math.max(...calls.map((c) => c.length)));
  const qkv = plan.input("qkv", [T, width]);
  const [seq, pos, slots] = (["seq", "pos", "slots"] as const).map((n) => plan.input(n, [T], "u32")) as Tensor[];
  const pages = plan.input("pages", [s.tables.length, maxPages], "u32");
  kvWrite(plan, s.options, qkv, slots as Tensor, kv);
  const N = plan.dim("N", Math.max(...calls.map((c) => c.length)));
  const tiles = tiled ? plan.input("tiles", [N, 2], "u32") : undefined;
  const inputs = { qkv, kv, pages, seq: seq as Tensor, pos: pos as Tensor, ...(tiles === undefined ? {} : { tiles }) };
  plan.output("o", pagedAttention(plan, inputs, s.options));
  const built = await plan.build();
  const out = new Map<number, Float32Array>();
  for (const call of calls) {
    const rows = call.map((r) => s.rows[r] as readonly [number, number]);
    const slot = ([q, p]: readonly [number, number]): number =>
      (s.tables[q]?.[Math.floor(p / pageTokens)] as number) * pageTokens + (p % pageTokens);
    const packed = new Float32Array(call.length * width);
    for (const [i, r] of call.entries()) packed.set(s.qkv[r] as Float32Array, i * width);
    const runs = Uint32Array.from(tilesOf(rows, pagedTileRows(device.caps, s.options)));
    const { o } = await built.run(
      { T: call.length, N: runs.length / 2 },
      {
        ...(tiled ? { tiles: runs } : {}),
        qkv: packed,
        seq: Uint32Array.from(rows, ([q]) => q),
        pos: Uint32Array.from(rows, ([, p]) => p),
        slots: Uint32Array.from(rows, slot),
        pages: Uint32Array.from(s.tables.flatMap((t) => [...t, ...new Array<number>(maxPages - t.length).fill(none)])),
      },
    );
    for (const [i, r] of call.entries()) {
      out.set(r, (o as Float32Array).slice(i * heads * headDim, (i + 1) * heads * headDim));
    }
  }
  built.dispose();
  for (const t of [kv.k, kv.v]) if (t.storage.kind === "buffer") device.pool.release(t.storage.buffer);
  return out;
}

/** The nearest f16 of a number of ordinary size, the even one of two. */
export function asHalf(x: number): number {
  const unit = 2 ** (Math.max(-14, Math.floor(Math.log2(Math.abs(x) || 1))) - 10);
  const below = Math.floor(x / unit);
  const over = x / unit - below;
  return unit * (over === 0.5 ? below + (below & 1) : Math.round(x / unit));
}

/** Attention of one row in float64. */
export function reference(s: Scene, r: number): number[] {
  const { heads, kvHeads, headDim, scale } = s.options;
  const [q, p] = s.rows[r] as readonly [number, number];
  const keys = s.rows.flatMap(([q2, p2], i) => (q2 === q && p2 <= p ? [s.qkv[i] as Float32Array] : []));
  return Array.from({ length: heads }, (_, h) => {
    const kvHead = Math.floor(h / (heads / kvHeads));
    const dot = (key: Float32Array): number => {
      let sum = 0;
      for (let d = 0; d < headDim; d++) {
        sum += (s.qkv[r]?.[h * headDim + d] as number) * (key[(heads + kvHead) * headDim + d] as number);
      }
      return sum * scale;
    };
    const scores = keys.map(dot);
    const top = Math.max(...scores);
    const weights = scores.map((v) => Math.exp(v - top));
    const total = weights.reduce((a, b) => a + b, 0);
    return Array.from({ length: headDim }, (_, d) =>
      keys.reduce(
        (sum, key, j) =>
          sum + ((weights[j] as number) / total) * (key[(heads + kvHeads + kvHead) * headDim + d] as number),
        0,
      ),
    );
  }).flat();
}
