import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FileDType } from "../../src/core/dtype.ts";
import { fileSource, memorySource } from "../../src/io/byte_source.ts";
import { encodeSafetensors, readTensor, type TensorSource, writeSafetensors } from "../../src/io/safetensors.ts";
import { readSafetensorsHeader } from "../../src/io/safetensors_header.ts";
import { nodeFiles } from "../../src/platform/node_files.ts";

/** A file of the given header object and data bytes, written by hand. */
function fileOf(header: unknown, dataBytes: number): Uint8Array {
  const json = new TextEncoder().encode(typeof header === "string" ? header : JSON.stringify(header));
  const out = new Uint8Array(8 + json.length + dataBytes);
  new DataView(out.buffer).setBigUint64(0, BigInt(json.length), true);
  out.set(json, 8);
  return out;
}

const open = (bytes: Uint8Array) => readSafetensorsHeader(memorySource("w.safetensors", bytes));

const tensor = (name: string, shape: number[], values: number[], dtype: FileDType = "F32"): TensorSource => ({
  name,
  dtype,
  shape,
  load: () => Float32Array.from(values),
});

async function reload(
  bytes: Uint8Array,
): Promise<Record<string, { dtype: string; shape: number[]; values: number[] }>> {
  const source = memorySource("w.safetensors", bytes);
  const { tensors } = await readSafetensorsHeader(source);
  const entries = await Promise.all(
    tensors.map(async (t) => [
      t.name,
      { dtype: t.dtype, shape: [...t.shape], values: [...(await readTensor(source, t))] },
    ]),
  );
  return Object.fromEntries(entries);
}

describe("safetensors header", () => {
  const entry = (dtype: string, shape: number[], begin: number, end: number) => ({
    dtype,
    shape,
    data_offsets: [begin, end],
  });

  it.each<[string, Uint8Array, string, string]>([
    [
      "a file too short for its header length",
      new Uint8Array(5),
      "safetensors_truncated",
      "w.safetensors is cut short: 5 bytes are too few for the header length, which takes 8.",
    ],
    [
      "a header longer than the file",
      fileOf("{}", 0).subarray(0, 9),
      "safetensors_truncated",
      "w.safetensors is cut short: the header should be 2 bytes, but only 1 follow its length.",
    ],
    [
      "an absurd header length",
      Uint8Array.of(0, 0, 0, 0, 1, 0, 0, 0, 1),
      "safetensors_header",
      "w.safetensors is not a safetensors file: the header length is 4294967296 bytes, more than the 100000000 allowed.",
    ],
    [
      "a header that is not JSON",
      fileOf("{oops", 0),
      "safetensors_header",
      "w.safetensors is not a safetensors file: the 5 bytes after the length are not JSON.",
    ],
    [
      "a header that is not an object",
      fileOf("[1]", 0),
      "safetensors_header",
      "w.safetensors is not a safetensors file: the header is not a JSON object.",
    ],
    [
      "a tensor without offsets",
      fileOf({ a: { dtype: "F32", shape: [1] } }, 4),
      "safetensors_header",
      'w.safetensors is not a safetensors file: tensor "a" lacks a dtype, a shape or two data_offsets.',
    ],
    [
      "a negative axis",
      fileOf({ a: entry("F32", [-1], 0, 4) }, 4),
      "safetensors_header",
      'w.safetensors is not a safetensors file: tensor "a" lacks a dtype, a shape or two data_offsets.',
    ],
    [
      "an unknown type",
      fileOf({ a: entry("F12", [1], 0, 4) }, 4),
      "safetensors_dtype",
      'w.safetensors: tensor "a" has the unknown type F12.',
    ],
    [
      "a size that is not the shape's",
      fileOf({ a: entry("BF16", [3, 2], 0, 24) }, 24),
      "safetensors_offsets",
      'w.safetensors: tensor "a" has 24 bytes (data_offsets 0 to 24), but BF16 (3,2) takes 12.',
    ],
    [
      "a tensor past the end",
      fileOf({ a: entry("F32", [1], 0, 4), b: entry("F32", [2], 4, 12) }, 8),
      "safetensors_truncated",
      'w.safetensors is cut short: tensor "b" ends at byte 128, but the file has 124.',
    ],
    [
      "two tensors in one place",
      fileOf({ a: entry("F32", [2], 0, 8), b: entry("F32", [1], 4, 8) }, 8),
      "safetensors_offsets",
      'w.safetensors: tensor "b" overlaps the tensor before it: it starts at byte 119, 123 was expected.',
    ],
    [
      "a gap",
      fileOf({ a: entry("F32", [1], 0, 4), b: entry("F32", [1], 8, 12) }, 12),
      "safetensors_offsets",
      'w.safetensors: tensor "b" leaves a gap before it: it starts at byte 124, 120 was expected.',
    ],
    [
      "bytes that belong to no tensor",
      fileOf({ a: entry("F32", [1], 0, 4) }, 9),
      "safetensors_offsets",
      "w.safetensors: 5 bytes after the last tensor belong to none.",
    ],
    [
      "metadata that is not text",
      fileOf({ __metadata__: { n: 1 } }, 0),
      "safetensors_header",
      "w.safetensors is not a safetensors file: __metadata__ is not an object of strings.",
    ],
  ])("refuses %s", async (_name, bytes, code, message) => {
    const error = await open(bytes).then(
      () => null,
      (thrown: { code: string; message: string; do: string }) => thrown,
    );
    expect(error?.code).toBe(code);
    expect(error?.message).toBe(message);
    expect(error?.do).not.toBe("");
  });

  it("lists tensors of types it cannot read as floats, and refuses to read them", async () => {
    const bytes = fileOf({ ids: entry("I64", [2], 0, 16) }, 16);
    const { tensors } = await open(bytes);
    expect(tensors).toEqual([{ name: "ids", dtype: "I64", shape: [2], offset: expect.any(Number), sizeBytes: 16 }]);
    const [ids] = tensors;
    if (!ids) throw new Error("no tensor");
    await expect(readTensor(memorySource("w.safetensors", bytes), ids)).rejects.toMatchObject({
      code: "safetensors_dtype",
      message: 'w.safetensors: tensor "ids" is I64; weights are read from F32, F16 or BF16.',
    });
  });

  it("never fails with anything but a typed error", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 64 }), fc.json(), async (tail, json) => {
        const cut = fileOf(json, 0);
        for (const bytes of [tail, new Uint8Array([...cut, ...tail])]) {
          const thrown = await open(bytes).catch((error: unknown) => error);
          if (thrown instanceof Error) expect((thrown as { code?: string }).code).toMatch(/^safetensors_/);
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe("safetensors values", () => {
  it("survive a round trip in f32, in the reference's order of bytes", async () => {
    const bytes = await encodeSafetensors(
      [tensor("b", [2], [1.5, -2]), tensor("h", [1, 2], [1, 2], "BF16"), tensor("a", [], [7])],
      { format: "pt" },
    );
    const { tensors, metadata } = await open(bytes);
    expect(metadata).toEqual({ format: "pt" });
    expect(tensors.map((t) => t.name)).toEqual(["a", "b", "h"]);
    expect(tensors[0]?.offset).toBeGreaterThan(0);
    expect((tensors[0]?.offset ?? 1) % 8).toBe(0);
    expect(await reload(bytes)).toEqual({
      a: { dtype: "F32", shape: [], values: [7] },
      b: { dtype: "F32", shape: [2], values: [1.5, -2] },
      h: { dtype: "BF16", shape: [1, 2], values: [1, 2] },
    });
  });

  it("hold no tensors, and tensors without elements", async () => {
    expect(await reload(await encodeSafetensors([]))).toEqual({});
    expect(await reload(await encodeSafetensors([tensor("e", [0, 3], [])]))).toEqual({
      e: { dtype: "F32", shape: [0, 3], values: [] },
    });
  });

  it("round to the nearest 16-bit float, ties to even", async () => {
    const f16 = [65504, 65519.9, 65520, 2 ** -24, 2 ** -25, 1 + 2 ** -11, 1 + 3 * 2 ** -11, -0];
    const bf16 = [1 + 2 ** -8, 1 + 3 * 2 ** -8, 1 + 2 ** -8 + 2 ** -20, 3.4e38, -0, 1e-40];
    const values = await reload(
      await encodeSafetensors([tensor("f16", [8], f16, "F16"), tensor("bf16", [6], bf16, "BF16")]),
    );
    expect(values.f16?.values).toEqual([65504, 65504, Infinity, 2 ** -24, 0, 1, 1 + 2 ** -9, -0]);
    // 1e-40 is subnormal: 71362 * 2^-149 in f32, whose upper half is 1 * 2^-133.
    expect(values.bf16?.values).toEqual([1, 1 + 2 ** -6, 1 + 2 ** -7, Infinity, -0, 2 ** -133]);
  });

  it("keep NaN and infinities in every type", async () => {
    const odd = [NaN, Infinity, -Infinity];
    for (const dtype of ["F32", "F16", "BF16"] as const) {
      const values = await reload(await encodeSafetensors([tensor("x", [3], odd, dtype)]));
      expect(values.x?.values).toEqual(odd);
    }
    // A NaN whose payload is in the lower half must not turn into infinity.
    const bits = new Float32Array(Uint32Array.of(0x7f800001).buffer);
    const source: TensorSource = { name: "x", dtype: "BF16", shape: [1], load: () => bits };
    expect((await reload(await encodeSafetensors([source]))).x?.values).toEqual([NaN]);
  });

  it("of 16 bits come back exactly", async () => {
    const half = new Uint16Array(65536).map((_, i) => i);
    for (const dtype of ["F16", "BF16"] as const) {
      const data = new Uint8Array(half.buffer);
      const head = fileOf({ x: { dtype, shape: [65536], data_offsets: [0, data.length] } }, 0);
      const source = memorySource("w", new Uint8Array([...head, ...data]));
      const [x] = (await readSafetensorsHeader(source)).tensors;
      if (!x) throw new Error("no tensor");
      const values = await readTensor(source, x);
      const again = await encodeSafetensors([{ name: "x", dtype, shape: [65536], load: () => values }]);
      const back = new Uint16Array(again.slice(again.length - data.length).buffer);
      const isNaN16 = (i: number) => Number.isNaN(values[i]);
      expect(half.filter((bits, i) => bits !== back[i] && !isNaN16(i))).toEqual(new Uint16Array(0));
    }
  });

  it("refuse data that is not the shape's size, and names used twice", async () => {
    await expect(encodeSafetensors([tensor("x", [2, 2], [1, 2, 3])])).rejects.toThrow(
      "ShapeError[safetensors.x]: expected (2,2), got (3). Save data of the tensor's own shape.",
    );
    await expect(encodeSafetensors([tensor("x", [1], [1]), tensor("x", [1], [2])])).rejects.toMatchObject({
      code: "safetensors_header",
      message: 'Two tensors to be saved are named "x".',
    });
  });

  it("are written to a file tensor by tensor, which holds what encoding at once gives", async () => {
    const folder = await mkdtemp(join(tmpdir(), "leyden-io-"));
    try {
      const path = join(folder, "m.safetensors");
      // More than one chunk of 8 MiB, with a remainder.
      const big = Float32Array.from({ length: 2_100_001 }, (_, i) => Math.fround(Math.sin(i)));
      const loads: string[] = [];
      const tensors = (["F32", "BF16"] as const).map((dtype) => ({
        name: `t.${dtype}`,
        dtype,
        shape: [big.length],
        load: async () => {
          loads.push(dtype);
          return big;
        },
      }));
      await writeSafetensors(nodeFiles, path, tensors);
      expect(loads).toEqual(["F32", "BF16"]);
      expect(Buffer.compare(await nodeFiles.read(path), await encodeSafetensors(tensors))).toBe(0);
      expect((await nodeFiles.list(folder)).map((e) => e.name)).toEqual(["m.safetensors"]);
      const source = await fileSource(nodeFiles, path);
      const entry = (await readSafetensorsHeader(source)).tensors.find((t) => t.dtype === "F32");
      if (!entry) throw new Error("no tensor");
      const read = await readTensor(source, entry);
      expect(read.length).toBe(big.length);
      expect(read.every((value, i) => value === big[i])).toBe(true);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
