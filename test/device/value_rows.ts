import { Rng, seedKey } from "../../src/core/rng.ts";
import type { Device } from "../../src/gpu/device.ts";
import { parseHfConfig } from "../../src/io/hf_config.ts";
import { AdaptedModel } from "../../src/model/lora/adapted_model.ts";
import { Adapter } from "../../src/model/lora/adapter.ts";
import { Model } from "../../src/model/model.ts";
import type { PackedTensors } from "../../src/model/packed_tensors.ts";
import type { Policy } from "../../src/model/policy.ts";
import { ValueHead } from "../../src/model/value_head.ts";
import type { TrainRow } from "../../src/schema/engine.ts";
import type { ValueLossConfig } from "../../src/schema/loss.ts";
import { Trainer } from "../../src/train/trainer.ts";
import { testDevice } from "../ops/opcheck.ts";
import { stillClock } from "../runtime/still_clock.ts";
import { randomRows } from "./training_rows.ts";

/** A value loss whose gradient goes into the policy. */
export const valueLoss: ValueLossConfig = { coef: 0.7, clipRange: 0.4, gradient: "policy", learningRate: 0.05 };

/** Rows of training with values and returns, some far enough apart for the clip to hold. */
export function valuedRows(count: number, vocab: number, seed: number): TrainRow[] {
  const rng = new Rng(seedKey(seed));
  return randomRows(count, vocab, rng).map((row) => ({
    ...row,
    oldValue: Float32Array.from(row.src, () => rng.normal()),
    returns: Float32Array.from(row.src, () => rng.normal()),
  }));
}

/** A policy with a value head of random weights, and the trainer of both. */
export interface ValuedPolicy {
  readonly policy: Policy;
  readonly head: ValueHead;
  readonly trainer: Trainer;
  close(): void;
}

function randomHead(device: Device, width: number): ValueHead {
  const head = new ValueHead(device, width);
  const rng = new Rng(seedKey(8));
  head.parameters.write(
    "head",
    Float32Array.from({ length: width }, () => 0.3 * rng.normal()),
  );
  head.parameters.write("head.bias", Float32Array.of(0.2));
  return head;
}

/** Opens one; `lora`: an adapter is trained beside frozen weights. */
export async function openValued(
  json: Record<string, unknown>,
  { microBatchTokens = 256, lora = false }: { microBatchTokens?: number; lora?: boolean } = {},
): Promise<ValuedPolicy> {
  const device = await testDevice();
  const model = Model.initialize(device, parseHfConfig(json), { seed: 11, std: 0.3 });
  const config = { rank: 3, alpha: 6, targets: "all-linear", rslora: false } as const;
  const adapter = lora ? Adapter.create(model, "test", config, 5) : null;
  const rng = new Rng(seedKey(77));
  for (const { name, parameter, offset, shape } of adapter?.tensors ?? []) {
    const size = shape.reduce((a, b) => a * b, 1);
    if (name.endsWith("lora_B.weight"))
      adapter?.parameters.write(
        parameter,
        Float32Array.from({ length: size }, () => 0.2 * rng.normal()),
        offset,
      );
  }
  const policy = adapter === null ? model : new AdaptedModel(model, adapter);
  const head = randomHead(device, model.description.width);
  const trainer = new Trainer(policy, { microBatchTokens, clock: stillClock, valueHead: head });
  const close = (): void => {
    trainer.dispose();
    head.dispose();
    adapter?.dispose();
    model.dispose();
  };
  return { policy, head, trainer, close };
}

/** Every number of packed tensors, in the order of the parameters. */
export async function numbersOf(packed: PackedTensors): Promise<number[]> {
  const parts: Float32Array[] = [];
  for (const name of packed.layout.parameters.keys()) parts.push(await packed.read(name));
  return parts.flatMap((part) => [...part]);
}

/** Adds `step` times a direction to packed tensors that held `start`. */
export function moveTo(
  packed: PackedTensors,
  start: readonly number[],
  direction: readonly number[],
  step: number,
): void {
  let at = 0;
  for (const [name, { shape }] of packed.layout.parameters) {
    const count = shape.reduce((a, b) => a * b, 1);
    const values = Float32Array.from(
      { length: count },
      (_, i) => (start[at + i] as number) + step * (direction[at + i] as number),
    );
    packed.write(name, values);
    at += count;
  }
}
