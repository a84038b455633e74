// Plan: a seed gives one model; saved bytes load back bit-equal; splitting into several buffers changes nothing; every
// way in which a file does not fit is refused by the tensor's name, and a refused load leaves no memory behind.
import { describe, expect, it } from "#test";
import { type HfConfig, parseHfConfig } from "../../src/io/hf_config.ts";
import { encodeSafetensors, type TensorSource } from "../../src/io/safetensors.ts";
import { weightsSha256 } from "../../src/io/weights_hash.ts";
import { memoryWeights } from "../../src/model/memory_weights.ts";
import { Model } from "../../src/model/model.ts";
import { allConfigs, gpt2Config, llamaConfig, qwen2Config } from "../model/configs.ts";
import { testDevice } from "../ops/opcheck.ts";

const config: HfConfig = parseHfConfig(llamaConfig);

async function loadBytes(
  sources: readonly TensorSource[],
  json: Record<string, unknown> = llamaConfig,
): Promise<Model> {
  const bytes = await encodeSafetensors(sources);
  return Model.load(await testDevice(), parseHfConfig(json), await memoryWeights("memory", bytes));
}

function constant(name: string, shape: readonly number[]): TensorSource {
  return { name, dtype: "F32", shape, load: () => new Float32Array(shape.reduce((a, b) => a * b, 1)) };
}

describe("model weights", () => {
  it("are one model per seed, whatever is fused", async () => {
    const device = await testDevice();
    const hashes: string[] = [];
    for (const seed of [1, 1, 2]) {
      const model = Model.initialize(device, config, { seed });
      hashes.push(await model.sha256());
      model.dispose();
    }
    expect(hashes[0]).toBe(hashes[1]);
    expect(hashes[0] === hashes[2]).toBe(false);
  });

  it("start as asked: norms one, matrices and embeddings with their deviations", async () => {
    const model = Model.initialize(await testDevice(), config, { seed: 3, std: 0.5, embeddingStd: 0.1 });
    const deviation = async (name: string): Promise<number> => {
      const values = await model.parameters.read(name);
      return Math.sqrt(values.reduce((s, v) => s + v * v, 0) / values.length);
    };
    expect(await model.parameters.read("norm")).toEqual(new Float32Array(16).fill(1));
    expect(await deviation("layers.0.qkv")).toBeCloseTo(0.5, 1);
    expect(await deviation("embed")).toBeCloseTo(0.1, 2);
    model.dispose();
  });

  for (const json of allConfigs) {
    it(`of ${json.model_type} save and load bit-equal`, async () => {
      const device = await testDevice();
      const before = device.pool.usage.buffers;
      const model = Model.initialize(device, parseHfConfig(json), { seed: 4 });
      const loaded = await loadBytes(model.tensorSources(), json);
      expect(await loaded.sha256()).toBe(await model.sha256());
      model.dispose();
      loaded.dispose();
      expect(device.pool.usage.buffers).toBe(before);
    });
  }

  it("of a base model, without the prefix and with buffers and a tied head's copy, load too", async () => {
    const json = gpt2Config;
    const model = Model.initialize(await testDevice(), parseHfConfig(json), { seed: 5 });
    const bare = model.tensorSources().map((t) => ({ ...t, name: t.name.replace("transformer.", "") }));
    const loaded = await loadBytes(
      [...bare, constant("h.0.attn.bias", [1, 1, 20, 20]), constant("lm_head.weight", [30, 12])],
      json,
    );
    expect(await loaded.sha256()).toBe(await model.sha256());
    model.dispose();
    loaded.dispose();
  });

  it("round when saved as BF16, and say so in the config", async () => {
    const model = Model.initialize(await testDevice(), config, { seed: 6 });
    const loaded = await loadBytes(model.tensorSources("BF16"));
    expect(await weightsSha256(loaded.tensorSources("BF16"))).toBe(await weightsSha256(model.tensorSources("BF16")));
    expect((await loaded.sha256()) === (await model.sha256())).toBe(false);
    expect(model.savedConfig("BF16").torch_dtype).toBe("bfloat16");
    model.dispose();
    loaded.dispose();
  });

  it("are refused by name when they do not fit", async () => {
    const device = await testDevice();
    const model = Model.initialize(device, config, { seed: 7 });
    const tied = Model.initialize(device, parseHfConfig(qwen2Config), { seed: 7 });
    const all = model.tensorSources();
    const buffers = device.pool.usage.buffers;
    const without = (name: string): TensorSource[] => all.filter((t) => t.name !== name);
    const norm = "model.norm.weight";
    await expect(loadBytes(without(norm))).rejects.toThrow(`memory lacks "${norm}", which llama needs.`);
    await expect(loadBytes(without("lm_head.weight"))).rejects.toThrow('memory lacks "lm_head.weight"');
    await expect(loadBytes([...all, constant("model.extra", [2])])).rejects.toThrow(
      'memory holds "model.extra", which llama does not have.',
    );
    await expect(loadBytes([...without(norm), constant(norm, [15])])).rejects.toThrow(
      `memory: tensor "${norm}" is (15); config.json asks for (16).`,
    );
    await expect(loadBytes(tied.tensorSources())).rejects.toThrow('memory lacks "lm_head.weight"');
    await expect(loadBytes([])).rejects.toThrow('"model.embed_tokens.weight"');
    expect(device.pool.usage.buffers).toBe(buffers);
    model.dispose();
    tied.dispose();
  });
});
