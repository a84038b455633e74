// Real checkpoints: a text model's likelihood, a solved task, and a BF16 model through training, saving and loading.
import { afterAll, beforeAll, expect } from "vitest";
import { type Device, openDevice } from "../../src/gpu/device.ts";
import { ModelFolder } from "../../src/io/model_folder.ts";
import { readTokenizerFiles } from "../../src/io/tokenizer_folder.ts";
import { forwardOutputs, packSequences } from "../../src/model/forward_outputs.ts";
import { Model } from "../../src/model/model.ts";
import { Scorer } from "../../src/model/scorer.ts";
import { platform } from "../../src/platform/node.ts";
import type { TrainRow } from "../../src/schema/engine.ts";
import type { LossConfig, OptimizerConfig } from "../../src/schema/loss.ts";
import { Tokenizer } from "../../src/text/tokenizer.ts";
import { sftRows } from "../../src/train/sft.ts";
import { Trainer } from "../../src/train/trainer.ts";
import { itShared, sharedPath } from "../shared.ts";

const { files, clock } = platform;
let device: Device;

beforeAll(async () => {
  device = await openDevice(await platform.gpu());
});
afterAll(() => device.close());

async function open(path: string): Promise<Model> {
  const folder = await ModelFolder.open(files, path);
  return Model.load(device, folder.config, folder);
}

itShared("stories260K gives stories the likelihood its source states", "assets/stories260k/hf", async (path) => {
  const model = await open(path);
  const tokenizer = Tokenizer.load(await readTokenizerFiles(files, path));
  const stories = JSON.parse(
    await files.readText(sharedPath("assets/tinystories-sample/tinystories_1000.json")),
  ) as string[];
  const texts = stories
    .slice(0, 40)
    .map((s) => Int32Array.from(tokenizer.encode(s, { addSpecial: true })).subarray(0, 256));
  const scorer = new Scorer(model, 2048);
  const scores = await scorer.scoreAll(texts, 1);
  const logprobs = scores.flatMap((s) => Array.from(s.logprobs.subarray(1)));
  expect(logprobs).toHaveLength(10069);
  const nll = -logprobs.reduce((a, b) => a + b, 0) / logprobs.length;
  expect(Math.abs(nll - 1.306)).toBeLessThan(0.005);
  expect(scores.every((s) => s.entropies.subarray(1).every((h) => h > 0 && h < Math.log(512)))).toBe(true);
  scorer.dispose();
  model.dispose();
});

itShared("gpt-nano-sort sorts all 729 inputs", "assets/gpt-nano-sort/hf", async (path) => {
  const model = await open(path);
  const inputs = Array.from({ length: 729 }, (_, n) => Array.from({ length: 6 }, (_, i) => Math.floor(n / 3 ** i) % 3));
  // Given the sorted letters so far, the model's choice must be the next one; so it writes exactly the sorted text.
  const texts = inputs.map((letters) => [...letters, ...letters.toSorted().slice(0, 5)]);
  const { logits } = await forwardOutputs(model, packSequences(texts));
  for (const [n, letters] of inputs.entries()) {
    const got = Array.from({ length: 6 }, (_, i) => {
      const row = logits.subarray(3 * (11 * n + 5 + i), 3 * (11 * n + 6 + i));
      return row.indexOf(Math.max(...row));
    });
    expect(got, letters.join("")).toEqual(letters.toSorted());
  }
  model.dispose();
});

const sft: LossConfig = {
  kind: "cross_entropy",
  temperature: 1,
  clipLow: 0,
  clipHigh: 0,
  dualClip: 0,
  klCoef: 0,
  klKind: "k3",
  entropyCoef: 0,
};
const ppo: LossConfig = { ...sft, kind: "ppo", clipLow: 0.2, clipHigh: 0.28, dualClip: 3 };
const adamw: OptimizerConfig = {
  learningRate: 1e-3,
  beta1: 0.9,
  beta2: 0.95,
  eps: 1e-8,
  weightDecay: 0.01,
  maxGradNorm: 1,
};

itShared(
  "a BF16 model trains, saves and loads with the same logits",
  "assets/verl-arithmetic-sequence",
  async (path) => {
    const model = await open(path);
    const trainer = new Trainer(model, { microBatchTokens: 256, clock });
    const ids = [4, 14, 9, 15, 13, 14, 8, 0, 5, 14, 6, 1];
    const supervised = await trainer.step(sftRows([{ ids, mask: ids.map((_, t) => Number(t >= 8)) }]), sft, adamw);
    expect(supervised.skipped).toBeNull();
    // Random weights: every one of 16 tokens is about equally likely.
    expect(supervised.loss).toBeGreaterThan(2.5);
    expect(supervised.loss).toBeLessThan(3.1);
    const scorer = new Scorer(model, 64);
    const { logprobs } = await scorer.score(Int32Array.from(ids), 1);
    const row: TrainRow = {
      ids: Int32Array.from(ids),
      src: Int32Array.of(7, 8, 9, 10),
      target: Int32Array.from(ids.slice(8)),
      weight: new Float32Array(4).fill(0.25),
      advantage: Float32Array.of(1, 1, -0.5, 2),
      oldLogprob: logprobs.subarray(8),
    };
    const reinforced = await trainer.step([row], ppo, adamw);
    expect(reinforced).toMatchObject({ skipped: null, clipFrac: 0, tokens: 4 });
    expect(reinforced.logprobDiffMax).toBeLessThan(1e-5);
    expect(trainer.steps).toBe(2);
    const text = packSequences([ids]);
    const before = await forwardOutputs(model, text);
    const folder = await files.makeTempFolder("leyden_model_");
    await model.save(files, folder);
    const loaded = await open(folder);
    expect(loaded.config.raw.torch_dtype).toBe("float32");
    expect(await loaded.sha256()).toBe(await model.sha256());
    expect(Array.from((await forwardOutputs(loaded, text)).logits)).toEqual(Array.from(before.logits));
    await files.remove(folder);
    for (const part of [scorer, trainer, model, loaded]) part.dispose();
  },
);
