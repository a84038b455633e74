import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { FileDType } from "../../src/core/dtype.ts";
import { ModelFolder } from "../../src/io/model_folder.ts";
import { encodeSafetensors, type TensorSource } from "../../src/io/safetensors.ts";
import { saveModel } from "../../src/io/save_model.ts";
import { weightsSha256 } from "../../src/io/weights_hash.ts";
import { nodeFiles } from "../../src/platform/node_files.ts";
import { itShared } from "../shared.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "leyden-model-"));
});
afterEach(() => rm(folder, { recursive: true }));

const config = { model_type: "llama", vocab_size: 4 };

const tensor = (name: string, values: number[], dtype: FileDType = "F32"): TensorSource => ({
  name,
  dtype,
  shape: [values.length],
  load: () => Float32Array.from(values),
});

const three = [tensor("a", [1, 2]), tensor("b", [3, 4, 5]), tensor("c", [6])];

async function contents(model: ModelFolder): Promise<Record<string, number[]>> {
  const entries = await Promise.all(model.names.map(async (name) => [name, [...(await model.read(name))]]));
  return Object.fromEntries(entries);
}

/** The tensors of an open folder, as they would be saved again in their own type. */
function sources(model: ModelFolder): TensorSource[] {
  return model.names.map((name) => {
    const { dtype, shape } = model.entry(name);
    return { name, dtype: dtype as FileDType, shape, load: () => model.read(name) };
  });
}

describe("model folder", () => {
  it("reads back what was saved in one file", async () => {
    await saveModel(nodeFiles, folder, { config, tensors: three });
    expect((await nodeFiles.list(folder)).map((e) => e.name)).toEqual(["config.json", "model.safetensors"]);
    const model = await ModelFolder.open(nodeFiles, folder);
    expect(await contents(model)).toEqual({ a: [1, 2], b: [3, 4, 5], c: [6] });
    expect(model.config.raw).toEqual(config);
    expect(model.has("a")).toBe(true);
    expect(model.has("z")).toBe(false);
  });

  it("reads back what was saved in shards, in place of what was there", async () => {
    await saveModel(nodeFiles, folder, { config, tensors: three });
    await saveModel(nodeFiles, folder, { config, tensors: three, maxShardBytes: 16 });
    expect((await nodeFiles.list(folder)).map((e) => e.name)).toEqual([
      "config.json",
      "model-00001-of-00002.safetensors",
      "model-00002-of-00002.safetensors",
      "model.safetensors.index.json",
    ]);
    expect(JSON.parse(await nodeFiles.readText(join(folder, "model.safetensors.index.json")))).toEqual({
      metadata: { total_size: 24 },
      weight_map: {
        a: "model-00001-of-00002.safetensors",
        b: "model-00002-of-00002.safetensors",
        c: "model-00002-of-00002.safetensors",
      },
    });
    expect(await contents(await ModelFolder.open(nodeFiles, folder))).toEqual({ a: [1, 2], b: [3, 4, 5], c: [6] });
    await saveModel(nodeFiles, folder, { config, tensors: [tensor("a", [9])] });
    expect(await contents(await ModelFolder.open(nodeFiles, folder))).toEqual({ a: [9] });
  });

  it("gives a tensor larger than the limit a shard of its own", async () => {
    await saveModel(nodeFiles, folder, { config, tensors: three, maxShardBytes: 4 });
    expect((await nodeFiles.list(folder)).filter((e) => e.name.startsWith("model-")).length).toBe(3);
    expect(await contents(await ModelFolder.open(nodeFiles, folder))).toEqual({ a: [1, 2], b: [3, 4, 5], c: [6] });
  });

  it("is not complete while it is being saved", async () => {
    await saveModel(nodeFiles, folder, { config, tensors: three });
    const failing: TensorSource = { ...tensor("a", [1]), load: () => Promise.reject(new Error("gone")) };
    await expect(saveModel(nodeFiles, folder, { config, tensors: [failing] })).rejects.toThrow("gone");
    await expect(ModelFolder.open(nodeFiles, folder)).rejects.toMatchObject({ code: "file_missing" });
  });

  it.each<[string, () => Promise<unknown>, string, string]>([
    [
      "weights",
      () => nodeFiles.write(join(folder, "config.json"), JSON.stringify(config)),
      "weights_missing",
      "FOLDER holds neither model.safetensors nor model.safetensors.index.json.",
    ],
    [
      "a shard",
      async () => {
        await saveModel(nodeFiles, folder, { config, tensors: three, maxShardBytes: 16 });
        await nodeFiles.remove(join(folder, "model-00002-of-00002.safetensors"));
      },
      "shard_missing",
      "FOLDER/model-00002-of-00002.safetensors is not there; the index puts 2 tensors in it.",
    ],
    [
      "a tensor of a shard",
      async () => {
        await saveModel(nodeFiles, folder, { config, tensors: three, maxShardBytes: 16 });
        const shard = join(folder, "model-00002-of-00002.safetensors");
        await nodeFiles.write(shard, await encodeSafetensors([tensor("b", [3, 4, 5])]));
      },
      "tensor_missing",
      'FOLDER/model-00002-of-00002.safetensors lacks the tensor "c" that the index puts in it.',
    ],
    [
      "a sound index",
      async () => {
        await saveModel(nodeFiles, folder, { config, tensors: three, maxShardBytes: 16 });
        const index = { weight_map: { a: "../elsewhere.safetensors" } };
        await nodeFiles.write(join(folder, "model.safetensors.index.json"), JSON.stringify(index));
      },
      "weights_index",
      "FOLDER/model.safetensors.index.json has no weight_map from tensor names to .safetensors files beside it.",
    ],
    [
      "a sound config.json",
      () => nodeFiles.write(join(folder, "config.json"), "{nope"),
      "json",
      "FOLDER/config.json is not JSON: ",
    ],
    [
      "a model type",
      () => nodeFiles.write(join(folder, "config.json"), "{}"),
      "config_json",
      "FOLDER/config.json has model_type undefined.",
    ],
  ])("says that it lacks %s", async (_name, prepare, code, message) => {
    await prepare();
    const thrown = await ModelFolder.open(nodeFiles, folder).then(
      () => null,
      (error: { code: string; message: string }) => error,
    );
    expect(thrown?.code).toBe(code);
    expect(thrown?.message.replaceAll(folder, "FOLDER").slice(0, message.length)).toBe(message);
  });

  it("names the tensor that it has not got", async () => {
    await saveModel(nodeFiles, folder, { config, tensors: three });
    const model = await ModelFolder.open(nodeFiles, folder);
    expect(() => model.entry("lm_head.weight")).toThrow(`${folder} has no tensor "lm_head.weight" among its 3.`);
  });
});

describe("weights hash", () => {
  it("depends on names, types, shapes and bytes, not on order or sharding", async () => {
    const whole = await weightsSha256(three);
    // printf 'a F32 1\n' followed by the bytes 00 00 80 3f, through sha256sum.
    expect(await weightsSha256([tensor("a", [1])])).toBe(
      "76dad3bfcd99d4e0a84ab6cdbbd59f2bda9ea42322af45f4ef413a43b3faaa8a",
    );
    expect(await weightsSha256([...three].reverse())).toBe(whole);
    await saveModel(nodeFiles, folder, { config, tensors: three, maxShardBytes: 16 });
    expect(await weightsSha256(sources(await ModelFolder.open(nodeFiles, folder)))).toBe(whole);
    const others = [
      [tensor("A", [1, 2]), ...three.slice(1)],
      [tensor("a", [1, 2.5]), ...three.slice(1)],
      [tensor("a", [1, 2], "BF16"), ...three.slice(1)],
      [{ ...tensor("a", [1, 2]), shape: [2, 1] }, ...three.slice(1)],
    ];
    const hashes = await Promise.all(others.map((tensors) => weightsSha256(tensors)));
    expect(new Set([whole, ...hashes]).size).toBe(5);
  });
});

describe("model folders of the shared data", () => {
  itShared("open whatever their style, with every tensor of the stated size", "golden/models", async (path) => {
    const names = (await nodeFiles.list(path)).filter((e) => e.kind === "folder").map((e) => e.name);
    expect(names.length).toBeGreaterThanOrEqual(6);
    for (const name of names) {
      const model = await ModelFolder.open(nodeFiles, join(path, name));
      for (const tensorName of model.names) {
        const values = await model.read(tensorName);
        expect(values.length).toBe(model.entry(tensorName).shape.reduce((n, d) => n * d, 1));
        expect(values.every(Number.isFinite)).toBe(true);
      }
    }
    const sharded = await ModelFolder.open(nodeFiles, join(path, "qwen2"));
    expect(sharded.names.length).toBe(26);
    const half = await ModelFolder.open(nodeFiles, join(path, "llama-tied"));
    expect(half.entry("model.embed_tokens.weight").dtype).toBe("BF16");
  });

  itShared("in BF16 are the same after saving and opening", "assets/verl-arithmetic-sequence", async (path) => {
    const model = await ModelFolder.open(nodeFiles, path);
    await saveModel(nodeFiles, folder, { config: model.config.raw, tensors: sources(model), maxShardBytes: 500_000 });
    const again = await ModelFolder.open(nodeFiles, folder);
    expect(again.names).toEqual(model.names);
    expect(await weightsSha256(sources(again))).toBe(await weightsSha256(sources(model)));
    expect(again.config).toEqual(model.config);
  });
});
