import type { Clock } from "../core/clock.ts";
import { sizeOf } from "../core/shape.ts";
import type { Device } from "../gpu/device.ts";
import { parseHfConfig } from "../io/hf_config.ts";
import { Model } from "../model/model.ts";
import type { LossConfig, OptimizerConfig, TrainRow } from "../schema/engine.ts";
import { Trainer } from "../train/trainer.ts";

/** Sizes of the training step that is compared with other WebGPU libraries. */
export const peerSizes = { layers: 4, width: 256, heads: 4, ffn: 1024, vocab: 512, rows: 8, tokens: 128 } as const;

/** Losses of steps 1 to 4 that two independent libraries agree on to four decimals. */
export const peerLosses: readonly number[] = [6.2812, 6.2621, 6.2396, 6.1981];

const optimizer: OptimizerConfig = {
  learningRate: 1e-3,
  beta1: 0.9,
  beta2: 0.95,
  eps: 1e-8,
  weightDecay: 0.01,
  maxGradNorm: 0,
};

const loss: LossConfig = {
  kind: "cross_entropy",
  temperature: 1,
  clipLow: 0,
  clipHigh: 0,
  dualClip: 0,
  klCoef: 0,
  klKind: "k3",
  entropyCoef: 0,
};

/** Uniform numbers in [0, 1) of the generator mulberry32, which all compared libraries draw from. */
function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The model, its trainer and its stream of batches. */
export class PeerStep {
  readonly model: Model;
  readonly trainer: Trainer;
  private readonly draw: () => number = mulberry32(2);

  constructor(device: Device, clock: Clock) {
    const { rows, tokens } = peerSizes;
    this.model = peerModel(device);
    this.trainer = new Trainer(this.model, { microBatchTokens: rows * tokens, clock });
  }

  /** One training step on the next batch: its loss before the step, and its milliseconds. */
  async step(): Promise<{ loss: number; ms: number }> {
    const result = await this.trainer.step(this.nextRows(), loss, optimizer);
    return { loss: result.loss, ms: result.trainMs };
  }

  dispose(): void {
    this.trainer.dispose();
    this.model.dispose();
  }

  /** Sequences in which the next token is 7 x + 3 plus a number below 4, modulo the vocabulary. */
  private nextRows(): TrainRow[] {
    const { rows, tokens, vocab } = peerSizes;
    return Array.from({ length: rows }, () => {
      const ids = new Int32Array(tokens);
      const target = new Int32Array(tokens);
      let token = Math.floor(this.draw() * vocab);
      for (let t = 0; t < tokens; t++) {
        ids[t] = token;
        token = (token * 7 + 3 + Math.floor(this.draw() * 4)) % vocab;
        target[t] = token;
      }
      const zeros = new Float32Array(tokens);
      return {
        ids,
        src: Int32Array.from(ids.keys()),
        target,
        weight: new Float32Array(tokens).fill(1 / (rows * tokens)),
        advantage: zeros,
        oldLogprob: zeros,
      };
    });
  }
}

/** The compared model with its weights: norms 1, all else normal with deviation 0.02 in the order of the others. */
function peerModel(device: Device): Model {
  const { layers, width, heads, ffn, vocab, tokens } = peerSizes;
  const config = parseHfConfig({
    model_type: "leyden-peers",
    vocab_size: vocab,
    hidden_size: width,
    num_hidden_layers: layers,
    num_attention_heads: heads,
    intermediate_size: ffn,
    max_position_embeddings: tokens,
  });
  const model = Model.initialize(device, config, { seed: 0 });
  const draw = mulberry32(1);
  for (const { name, shape, init } of model.parameters.layout.parameters.values()) {
    if (init === "one") continue;
    const values = Float32Array.from({ length: sizeOf(shape) }, () => {
      const radius = Math.sqrt(-2 * Math.log(draw() + 1e-12));
      return 0.02 * radius * Math.cos(2 * Math.PI * draw());
    });
    model.parameters.write(name, values);
  }
  return model;
}
