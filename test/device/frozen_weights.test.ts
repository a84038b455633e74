// Plan: a model in f16 or i8 computes what an f32 model of the same numbers computes, to the last bit, forward and the
// gradients of an adapter beside it, tied head and embedding included; its weights are read and saved as those numbers;
// f16 files are kept exactly; it takes the memory it should; it is not trained itself; a weight too large is refused.
import { describe, expect, it } from "#test";
import { Rng, seedKey } from "../../src/core/rng.ts";
import { parseHfConfig } from "../../src/io/hf_config.ts";
import { forwardOutputs, packSequences } from "../../src/model/forward_outputs.ts";
import { AdaptedModel } from "../../src/model/lora/adapted_model.ts";
import { Adapter } from "../../src/model/lora/adapter.ts";
import { Model } from "../../src/model/model.ts";
import type { WeightType } from "../../src/model/parameter_layout.ts";
import { Trainer } from "../../src/train/trainer.ts";
import { gpt2Config, qwen3Config } from "../model/configs.ts";
import { testDevice } from "../ops/opcheck.ts";
import { stillClock } from "../runtime/still_clock.ts";
import { allGradients, ppo, randomRows } from "./training_rows.ts";

const qwen3: Record<string, unknown> = {
  ...qwen3Config,
  hidden_size: 64,
  head_dim: 16,
  intermediate_size: 128,
  tie_word_embeddings: true,
};
const gpt2: Record<string, unknown> = { ...gpt2Config, n_embd: 64, n_head: 4 };

async function open(json: Record<string, unknown>, type: WeightType): Promise<Model> {
  return Model.initialize(await testDevice(), parseHfConfig(json), { seed: 11, std: 0.3, type });
}

/** An f32 model of the numbers that a frozen one stands for. */
async function dense(frozen: Model): Promise<Model> {
  const model = Model.initialize(frozen.device, frozen.config, { seed: 1 });
  for (const name of model.parameters.layout.parameters.keys()) {
    model.parameters.write(name, await frozen.parameters.read(name));
  }
  return model;
}

describe("frozen weights", () => {
  for (const [json, types] of [
    [qwen3, ["f16", "int8"]],
    [gpt2, ["int8"]],
  ] as const) {
    for (const type of types) {
      it(`${json.model_type} in ${type} is the f32 model of the same numbers`, async () => {
        const frozen = await open(json, type);
        const same = await dense(frozen);
        const tokens = packSequences([
          [1, 2, 3, 4, 5],
          [9, 8, 7],
        ]);
        expect((await forwardOutputs(frozen, tokens)).logits).toEqual((await forwardOutputs(same, tokens)).logits);
        const host = await frozen.parameters.toHost();
        expect(await host.read("layers.1.up", 64, 128)).toEqual(await frozen.parameters.read("layers.1.up", 64, 128));
        const original = await open(json, "f32");
        const [near, exact] = [
          await frozen.parameters.read("layers.0.qkv"),
          await original.parameters.read("layers.0.qkv"),
        ];
        expect(near).not.toEqual(exact);
        const worst = Math.max(...near.map((v, i) => Math.abs(v - (exact[i] as number))));
        expect(worst).toBeLessThan(type === "f16" ? 1e-3 : 6e-3);
        const rows = randomRows(3, json.vocab_size as number, new Rng(seedKey(1)));
        const gradients: Float32Array[] = [];
        for (const base of [frozen, same]) {
          const lora = { rank: 4, alpha: 8, targets: "all-linear", rslora: false } as const;
          const adapter = Adapter.create(base, "a", lora, 3);
          const trainer = new Trainer(new AdaptedModel(base, adapter), { microBatchTokens: 64, clock: stillClock });
          await trainer.computeGradients(rows, ppo);
          gradients.push(await allGradients(trainer));
          trainer.dispose();
          adapter.dispose();
        }
        expect(gradients[0]).toEqual(gradients[1]);
        for (const model of [frozen, same, original]) model.dispose();
      });
    }
  }

  it("takes the memory of its types", async () => {
    const [full, half, byte] = [await open(qwen3, "f32"), await open(qwen3, "f16"), await open(qwen3, "int8")];
    const share = (m: Model): number => m.parameters.bytes / full.parameters.bytes;
    expect(share(half)).toBeGreaterThan(0.5);
    expect(share(half)).toBeLessThan(0.56);
    // Small layers pay for alignment, and the embedding stays f16.
    expect(share(byte)).toBeLessThan(0.36);
    expect(byte.parameters.tensor("embed").dtype).toBe("f16");
    expect(byte.parameters.tensor("layers.0.norm1").dtype).toBe("f32");
    for (const model of [full, half, byte]) model.dispose();
  });

  it("are not trained themselves", async () => {
    const model = await open(qwen3, "f16");
    expect(() => new Trainer(model, { microBatchTokens: 64, clock: stillClock })).toThrow(
      'Parameter "embed" is f16 and cannot be trained.',
    );
    model.dispose();
  });

  it("refuses a weight that its type cannot hold", async () => {
    const model = await open(qwen3, "f16");
    expect(() => model.parameters.write("layers.0.out", new Float32Array(64 * 64).fill(1e5))).toThrow(
      'Parameter "layers.0.out" holds 100000, too large for f16.',
    );
    model.dispose();
  });
});
