import type { Rng } from "../../src/core/rng.ts";
import { parseHfConfig } from "../../src/io/hf_config.ts";
import { Model } from "../../src/model/model.ts";
import type { TrainRow } from "../../src/schema/engine.ts";
import type { LossConfig, OptimizerConfig } from "../../src/schema/loss.ts";
import { Trainer, type TrainerOptions } from "../../src/train/trainer.ts";
import { testDevice } from "../ops/opcheck.ts";
import { stillClock } from "../runtime/still_clock.ts";

export const crossEntropy: LossConfig = {
  kind: "cross_entropy",
  temperature: 1,
  clipLow: 0,
  clipHigh: 0,
  dualClip: 0,
  klCoef: 0,
  klKind: "k3",
  entropyCoef: 0,
};
export const ppo: LossConfig = {
  ...crossEntropy,
  kind: "ppo",
  temperature: 0.8,
  clipLow: 0.2,
  clipHigh: 0.28,
  dualClip: 3,
  entropyCoef: 0.01,
};
export const adamw: OptimizerConfig = {
  learningRate: 1e-2,
  beta1: 0.9,
  beta2: 0.95,
  eps: 1e-8,
  weightDecay: 0.01,
  maxGradNorm: 1,
};

/** A plain row with random advantages; every token but the first is predicted. */
export function row(ids: readonly number[], rng: Rng, extra: Partial<TrainRow> = {}): TrainRow {
  const n = ids.length - 1;
  const draw = (value: () => number): Float32Array => Float32Array.from({ length: n }, value);
  return {
    ids: Int32Array.from(ids),
    src: Int32Array.from({ length: n }, (_, t) => t),
    target: Int32Array.from(ids.slice(1)),
    weight: draw(() => 0.1),
    advantage: draw(() => rng.normal()),
    oldLogprob: draw(() => -3.5 + 0.3 * rng.normal()),
    ...extra,
  };
}

/** Rows of 3 to 11 random tokens. */
export function randomRows(count: number, vocab: number, rng: Rng): TrainRow[] {
  return Array.from({ length: count }, () => {
    const length = 3 + rng.below(9);
    return row(
      Array.from({ length }, () => rng.below(vocab)),
      rng,
    );
  });
}

/** A random model and its trainer. */
export async function open(
  json: Record<string, unknown>,
  microBatchTokens = 256,
  options: Partial<TrainerOptions> = {},
): Promise<{ model: Model; trainer: Trainer }> {
  const model = Model.initialize(await testDevice(), parseHfConfig(json), { seed: 11, std: 0.3 });
  return { model, trainer: new Trainer(model, { microBatchTokens, clock: stillClock, ...options }) };
}

/** Every gradient in one array, in the order of the parameters. */
export async function allGradients({ gradients }: Trainer): Promise<Float32Array> {
  const parts: Float32Array[] = [];
  for (const name of gradients.layout.parameters.keys()) parts.push(await gradients.read(name));
  return Float32Array.from(parts.flatMap((p) => Array.from(p)));
}

/** ||a - b|| / ||b||. */
export function relativeDistance(a: Float32Array, b: Float32Array): number {
  let difference = 0;
  let size = 0;
  for (let i = 0; i < a.length; i++) {
    difference += ((a[i] as number) - (b[i] as number)) ** 2;
    size += (b[i] as number) ** 2;
  }
  return Math.sqrt(difference / size);
}
