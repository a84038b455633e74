// Plan: a fresh adapter changes nothing; its gradients are those of the dense weights it stands for, for every family, for
// fused projections with some parts left out and with rank stabilisation; frozen weights stay as they are; a step lowers
// the loss; two adapters over one model do not touch each other; a target that no model has is refused.
import { describe, expect, it } from "#test";
import { Rng, seedKey } from "../../src/core/rng.ts";
import type { ProfiledDispatch } from "../../src/gpu/profiler.ts";
import { parseHfConfig } from "../../src/io/hf_config.ts";
import { AdaptedModel } from "../../src/model/lora/adapted_model.ts";
import { Adapter } from "../../src/model/lora/adapter.ts";
import { Model } from "../../src/model/model.ts";
import { type LoraConfig, loraScale } from "../../src/schema/lora.ts";
import { Trainer } from "../../src/train/trainer.ts";
import { allConfigs, llamaConfig, qwen3Config } from "../model/configs.ts";
import { expectClose, testDevice } from "../ops/opcheck.ts";
import { stillClock } from "../runtime/still_clock.ts";
import { adamw, allGradients, crossEntropy, ppo, randomRows, row } from "./training_rows.ts";

const all: LoraConfig = { rank: 3, alpha: 6, targets: "all-linear", rslora: false };

/** A random model with a random adapter (A and B both), and a trainer of the adapter. */
async function adapted(json: Record<string, unknown>, config: LoraConfig = all, microBatchTokens = 256) {
  const model = Model.initialize(await testDevice(), parseHfConfig(json), { seed: 11, std: 0.3 });
  const adapter = Adapter.create(model, "test", config, 5);
  const rng = new Rng(seedKey(77));
  for (const t of adapter.tensors) {
    if (!t.parameter.endsWith(".lora_B")) continue;
    const values = Float32Array.from(
      { length: (t.shape[0] as number) * (t.shape[1] as number) },
      () => 0.2 * rng.normal(),
    );
    adapter.parameters.write(t.parameter, values, t.offset);
  }
  const policy = new AdaptedModel(model, adapter);
  const trainer = new Trainer(policy, { microBatchTokens, clock: stillClock });
  return { model, adapter, policy, trainer };
}

type Opened = Awaited<ReturnType<typeof adapted>>;

function close({ model, adapter, trainer }: Pick<Opened, "model" | "adapter" | "trainer">): void {
  trainer.dispose();
  adapter.dispose();
  model.dispose();
}

/** Adds every pair's product to the matrix it stands beside: the dense model that the adapter describes. */
async function mergeDense({ model, adapter }: Opened): Promise<Model> {
  const dense = Model.initialize(model.device, model.config, { seed: 11, std: 0.3 });
  const d = model.description;
  for (const [a, b] of pairs(adapter)) {
    const [rank, inputs] = a.shape as [number, number];
    const [columns] = b.shape as [number, number];
    const A = await adapter.parameters.read(a.parameter, a.offset, rank * inputs);
    const B = await adapter.parameters.read(b.parameter, b.offset, columns * rank);
    const target = weightOf(model, a.name);
    const w = await dense.parameters.read(target.parameter, target.offset, inputs * columns);
    for (let n = 0; n < columns; n++) {
      for (let i = 0; i < inputs; i++) {
        let sum = 0;
        for (let k = 0; k < rank; k++) sum += (B[n * rank + k] as number) * (A[k * inputs + i] as number);
        const at = d.weightLayout === "out_in" ? n * inputs + i : i * columns + n;
        w[at] = (w[at] as number) + loraScale(adapter.config) * sum;
      }
    }
    dense.parameters.write(target.parameter, w, target.offset);
  }
  return dense;
}

function pairs({ tensors }: Adapter) {
  return tensors.flatMap((t, i) => (i % 2 === 0 ? [[t, tensors[i + 1] as typeof t] as const] : []));
}

function weightOf(model: Model, loraName: string) {
  const name = loraName.replace("base_model.model.", "").replace(".lora_A", "");
  const found = model.family.tensors(model.description).find((t) => t.name === name);
  if (found === undefined) throw new Error(name);
  return found;
}

describe("LoRA", () => {
  for (const json of allConfigs) {
    it(`has the gradients of the dense weights it stands for: ${json.model_type}`, async () => {
      const opened = await adapted(json);
      const { model, adapter, trainer } = opened;
      const rows = randomRows(3, json.vocab_size as number, new Rng(seedKey(1)));
      const low = await trainer.computeGradients(rows, ppo);
      const dense = await mergeDense(opened);
      const full = new Trainer(dense, { microBatchTokens: 256, clock: stillClock });
      const high = await full.computeGradients(rows, ppo);
      expectClose("statistics", low.stats, high.stats, 2e-5);
      const scale = loraScale(adapter.config);
      for (const [a, b] of pairs(adapter)) {
        const [rank, inputs] = a.shape as [number, number];
        const [columns] = b.shape as [number, number];
        const target = weightOf(model, a.name);
        const raw = await full.gradients.read(target.parameter, target.offset, inputs * columns);
        const dW = (n: number, i: number): number =>
          raw[model.description.weightLayout === "out_in" ? n * inputs + i : i * columns + n] as number;
        const A = await adapter.parameters.read(a.parameter, a.offset, rank * inputs);
        const B = await adapter.parameters.read(b.parameter, b.offset, columns * rank);
        // W + scale B A: dB = scale dW A^T, dA = scale B^T dW.
        const dB = new Float64Array(columns * rank);
        const dA = new Float64Array(rank * inputs);
        for (let n = 0; n < columns; n++) {
          for (let k = 0; k < rank; k++) {
            for (let i = 0; i < inputs; i++) {
              dB[n * rank + k] = (dB[n * rank + k] as number) + scale * dW(n, i) * (A[k * inputs + i] as number);
              dA[k * inputs + i] = (dA[k * inputs + i] as number) + scale * dW(n, i) * (B[n * rank + k] as number);
            }
          }
        }
        expectClose(b.name, await trainer.gradients.read(b.parameter, b.offset, columns * rank), dB, 5e-5);
        expectClose(a.name, await trainer.gradients.read(a.parameter, a.offset, rank * inputs), dA, 5e-5);
      }
      full.dispose();
      dense.dispose();
      close(opened);
    });
  }

  it("reaches some parts of a fused projection, with rank stabilisation", async () => {
    const opened = await adapted(qwen3Config, { rank: 2, alpha: 3, targets: ["q_proj", "mlp.up_proj"], rslora: true });
    const rows = randomRows(3, 40, new Rng(seedKey(2)));
    const low = await opened.trainer.computeGradients(rows, ppo);
    const dense = await mergeDense(opened);
    const full = new Trainer(dense, { microBatchTokens: 256, clock: stillClock });
    expectClose("statistics", low.stats, (await full.computeGradients(rows, ppo)).stats, 2e-5);
    const names = opened.adapter.tensors.map((t) => t.name);
    expect(names.slice(0, 4)).toEqual([
      "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight",
      "base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight",
      "base_model.model.model.layers.0.mlp.up_proj.lora_A.weight",
      "base_model.model.model.layers.0.mlp.up_proj.lora_B.weight",
    ]);
    expect(names).toHaveLength(8);
    full.dispose();
    dense.dispose();
    close(opened);
  });

  it("trains the pairs alone; several adapters share one model", async () => {
    const model = Model.initialize(await testDevice(), parseHfConfig(llamaConfig), { seed: 11, std: 0.3 });
    const before = await model.sha256();
    const rows = randomRows(4, 40, new Rng(seedKey(3)));
    const plain = new Trainer(model, { microBatchTokens: 256, clock: stillClock });
    const first = await plain.computeGradients(rows, crossEntropy);
    plain.dispose();
    const buffers = model.device.pool.usage.buffers;
    const adapters = ["a", "b"].map((name) => Adapter.create(model, name, all, 5));
    const trainers = adapters.map(
      (adapter) => new Trainer(new AdaptedModel(model, adapter), { microBatchTokens: 16, clock: stillClock }),
    );
    const [a, b] = trainers as [Trainer, Trainer];
    // B is zero: to the last bit the model itself.
    expect(Array.from((await a.computeGradients(rows, crossEntropy)).stats)).toEqual(Array.from(first.stats));
    const untouched = await adapters[1]?.parameters.read("layers.0.qkv.lora_A");
    let loss = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 5; i++) {
      const step = await a.step(rows, crossEntropy, adamw);
      expect(step.loss).toBeLessThan(loss);
      loss = step.loss;
    }
    expect(await model.sha256()).toBe(before);
    expect(await adapters[1]?.parameters.read("layers.0.qkv.lora_A")).toEqual(untouched);
    expect(Array.from((await b.computeGradients(rows, crossEntropy)).stats)).toEqual(Array.from(first.stats));
    for (const t of trainers) t.dispose();
    for (const adapter of adapters) adapter.dispose();
    await model.device.idle();
    expect(model.device.pool.usage.buffers).toBe(buffers);
    model.dispose();
  });

  it("starts A as PEFT does and B at zero, each adapter from streams of its own", async () => {
    const model = Model.initialize(await testDevice(), parseHfConfig(llamaConfig), { seed: 11 });
    const [one, same, other] = [
      Adapter.create(model, "one", all, 5),
      Adapter.create(model, "one", all, 5),
      Adapter.create(model, "other", all, 5),
    ] as [Adapter, Adapter, Adapter];
    const a = await one.parameters.read("layers.1.down.lora_A");
    const bound = 1 / Math.sqrt(24);
    expect(Math.max(...a.map(Math.abs))).toBeLessThanOrEqual(bound);
    expect(Math.max(...a.map(Math.abs))).toBeGreaterThan(0.8 * bound);
    expect(await same.parameters.read("layers.1.down.lora_A")).toEqual(a);
    expect(await other.parameters.read("layers.1.down.lora_A")).not.toEqual(a);
    expect((await one.parameters.read("layers.1.down.lora_B")).every((v) => v === 0)).toBe(true);
    for (const adapter of [one, same, other]) adapter.dispose();
    model.dispose();
  });

  it("does not depend on the split into micro-batches", async () => {
    const rows = randomRows(9, 40, new Rng(seedKey(4)));
    const whole = await adapted(qwen3Config);
    const split = await adapted(qwen3Config, all, 16);
    await whole.trainer.computeGradients(rows, ppo);
    await split.trainer.computeGradients(rows, ppo);
    expectClose("gradients", await allGradients(split.trainer), await allGradients(whole.trainer), 1e-5);
    close(whole);
    close(split);
  });

  it("computes no gradient of what nothing below it is trained by", async () => {
    const labels = async (json: Record<string, unknown>, targets: LoraConfig["targets"]): Promise<string[]> => {
      const opened = await adapted(json, { ...all, targets });
      const { model, trainer } = opened;
      const dispatches: ProfiledDispatch[] = [];
      model.device.profiler = { nowMs: () => 0, record: (d) => dispatches.push(d) };
      await trainer.computeGradients([row([1, 2, 3, 4, 5], new Rng(seedKey(6)))], ppo);
      model.device.profiler = null;
      close(opened);
      return dispatches.map(({ label, shape }) => `${label} ${shape}`);
    };
    const count = (of: readonly string[], pattern: RegExp): number => of.filter((label) => pattern.test(label)).length;
    const { hidden_size: C, num_hidden_layers: layers } = llamaConfig as Record<string, number>;
    const whole = await labels(llamaConfig, "all-linear");
    // 16 from (H + 2 KV) D = 64: the first block's normalised input needs no gradient, neither through W nor through A.
    expect(count(whole, new RegExp(`^matmul_\\w+_NN.main 5x${C}x64$`))).toBe((layers as number) - 1);
    // Two norms a block and the last one, but the first block's first.
    expect(count(whole, /^rmsnorm.backward/)).toBe(2 * (layers as number));
    const upper = await labels(llamaConfig, ["down_proj"]);
    // Through the second block down to the first block's MLP, and no further.
    expect(count(upper, /^attention_dq/)).toBe((layers as number) - 1);
    expect(count(upper, /^attention_dkv/)).toBe((layers as number) - 1);
    expect(count(upper, /^activation.backward/)).toBe((layers as number) - 1);
    expect(count(upper, /^rmsnorm.backward/)).toBe(2 * (layers as number) - 1);
  });

  it("refuses a target that no linear layer has", async () => {
    const model = Model.initialize(await testDevice(), parseHfConfig(llamaConfig), { seed: 11 });
    expect(() => Adapter.create(model, "x", { ...all, targets: ["q_proj", "query"] }, 5)).toThrow(
      'LoRA target "query" is no linear layer in the blocks of a llama model.',
    );
    model.dispose();
  });
});
