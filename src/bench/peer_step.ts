import type { Clock } from "../core/clock.ts";
import { sizeOf } from "../core/shape.ts";
import type { Device } from "../gpu/device.ts";
import { parseHfConfig } from "../io/hf_config.ts";
import { Model } from "../model/model.ts";
import type { TrainRow } from "../schema/engine.ts";
import type { LossConfig, OptimizerConfig } from "../schema/loss.ts";
import { Trainer } from "../train/trainer.ts";
import { drawBatch, drawWeights, mulberry32, peerOptimizer, peerSizes } from "./peer_work.ts";

/** Losses of steps 1 to 4 that two independent libraries agree on to four decimals. */
export const peerLosses: readonly number[] = [6.2812, 6.2621, 6.2396, 6.1981];

const optimizer: OptimizerConfig = { ...peerOptimizer, maxGradNorm: 0 };

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

  /** One row for each sequence of the next batch, all positions weighing the same. */
  private nextRows(): TrainRow[] {
    const { rows, tokens } = peerSizes;
    const { ids, targets } = drawBatch(this.draw);
    return Array.from({ length: rows }, (_, row) => {
      const [start, end] = [row * tokens, (row + 1) * tokens];
      const zeros = new Float32Array(tokens);
      return {
        ids: ids.slice(start, end),
        src: Int32Array.from({ length: tokens }, (_, t) => t),
        target: targets.slice(start, end),
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
    model.parameters.write(name, drawWeights(sizeOf(shape), draw));
  }
  return model;
}
