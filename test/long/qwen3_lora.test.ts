// Plan: a random model of Qwen3-0.6B's shape from a generated Hugging Face folder in f16: opened, decoding, one LoRA update,
// inside 20 GiB; the seconds of each are printed.
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Rng, seedKey } from "../../src/core/rng.ts";
import { sizeOf } from "../../src/core/shape.ts";
import { engineDefaults } from "../../src/engine/engine_options.ts";
import { openLocalEngine } from "../../src/engine/open_local_engine.ts";
import { parseHfConfig } from "../../src/io/hf_config.ts";
import { familyOf } from "../../src/model/families/registry.ts";
import { nodeFiles } from "../../src/platform/node_files.ts";
import type { GenerateRequest } from "../../src/schema/engine.ts";
import { adamw, crossEntropy, row } from "../device/training_rows.ts";
import { openTestGpu } from "../runtime/gpu.ts";

const config = {
  architectures: ["Qwen3ForCausalLM"],
  model_type: "qwen3",
  vocab_size: 151936,
  hidden_size: 1024,
  num_hidden_layers: 28,
  num_attention_heads: 16,
  num_key_value_heads: 8,
  head_dim: 128,
  intermediate_size: 3072,
  hidden_act: "silu",
  max_position_embeddings: 40960,
  rms_norm_eps: 1e-6,
  rope_theta: 1000000,
  tie_word_embeddings: true,
  torch_dtype: "float16",
};

const gibibyte = 2 ** 30;
const clock = { now: () => 0, monotonic: () => performance.now(), sleep: async () => {} };

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "leyden-qwen3-"));
  writeFolder(folder);
}, 600_000);
afterAll(() => rmSync(folder, { recursive: true }));

/** f16 numbers of magnitude 1/128 to 1/8 with random signs and fractions, straight as bits: fast by the hundred million. */
function noise(count: number, seed: number): Uint16Array {
  const out = new Uint16Array(count);
  let state = seed;
  for (let i = 0; i < count; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    out[i] = ((state >>> 16) & 0x8bff) | 0x2000 | (((state >>> 8) & 1) << 10);
  }
  return out;
}

/** The folder as save_pretrained lays it out; norms are one. */
function writeFolder(at: string): void {
  const description = familyOf(parseHfConfig(config)).describe(parseHfConfig(config));
  const tensors = familyOf(parseHfConfig(config)).tensors(description);
  let end = 0;
  const header: Record<string, unknown> = {};
  for (const { name, shape } of tensors) {
    const begin = end;
    end += 2 * sizeOf(shape);
    header[name] = { dtype: "F16", shape, data_offsets: [begin, end] };
  }
  const json = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  const path = join(at, "model.safetensors");
  writeFileSync(path, Buffer.concat([length, json]));
  for (const [i, { shape }] of tensors.entries()) {
    const values = shape.length === 1 ? new Uint16Array(sizeOf(shape)).fill(0x3c00) : noise(sizeOf(shape), i + 1);
    appendFileSync(path, new Uint8Array(values.buffer));
  }
  writeFileSync(join(at, "config.json"), JSON.stringify(config));
}

describe("Qwen3-0.6B's shape", () => {
  it("decodes 8 tokens and takes one LoRA update of rank 16 on 256 tokens inside 20 GiB", async () => {
    const seconds: Record<string, number> = {};
    const timed = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
      const start = performance.now();
      const result = await work();
      seconds[what] = Math.round((performance.now() - start) / 100) / 10;
      return result;
    };
    const host = { gpu: await openTestGpu(), files: nodeFiles, clock };
    const lora = { rank: 16, alpha: 32, targets: "all-linear", rslora: false } as const;
    const engine = await timed("open", () =>
      openLocalEngine(host, {
        ...engineDefaults,
        modelFolder: folder,
        weights: "f16",
        adapters: [{ name: "policy", folder: "", lora }],
        ...{ contextLength: 512, kvTokens: 512, maxSequences: 1, prefillTokens: 64 },
        microBatchTokens: 256,
        memoryBytes: 8 * gibibyte,
      }),
    );
    const rng = new Rng(seedKey(1));
    const draw = (id: string): GenerateRequest => ({
      id,
      promptIds: Int32Array.from({ length: 16 }, (_, i) => 1000 * i + 7),
      maxTokens: 8,
      sampling: { temperature: 1, topK: 0, topP: 1, minP: 0 },
      key: rng.key,
      stopIds: [],
      stopStrings: [],
    });
    const reply = await timed("8 tokens, cold", () => engine.generate(draw("cold")));
    expect(reply.ids).toHaveLength(8);
    const again = await timed("8 tokens, warm", () => engine.generate(draw("warm")));
    expect(again.ids).toEqual(reply.ids);
    const ids = Array.from({ length: 256 }, () => rng.below(config.vocab_size));
    const rows = [row(ids, rng, { weight: new Float32Array(255).fill(1 / 255) })];
    const optimizer = { ...adamw, learningRate: 1e-3, weightDecay: 0 };
    const update = (id: string) => engine.update({ id, rows, loss: crossEntropy, optimizer });
    const first = await timed("LoRA update", () => update("u1"));
    expect(first.skipped).toBeNull();
    // Cross entropy of random weights lies near the log of the vocabulary.
    expect(first.loss).toBeGreaterThan(Math.log(config.vocab_size) - 1);
    expect(first.gradNorm).toBeGreaterThan(0);
    const { files } = await engine.snapshot({ optimizer: false });
    // 28 layers, 7 modules, rank 16: q, k, v, o, gate, up, down of 1024, 2048, 1024 and 3072.
    const pairs = 28 * 16 * (3072 + 2048 + 2048 + 3072 + 4096 + 4096 + 4096);
    expect((files["adapter_model.safetensors"] as Uint8Array).byteLength).toBeGreaterThan(4 * pairs);
    await engine.close();
    const peak = process.resourceUsage().maxRSS * 1024;
    console.log(`${JSON.stringify(seconds)}, most memory ${(peak / gibibyte).toFixed(2)} GiB`);
    expect(peak).toBeLessThan(20 * gibibyte);
  });
});
