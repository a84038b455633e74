import type { Tensor } from "../gpu/tensor.ts";
import type { DecoderGradients, DecoderWeights } from "../model/decoder_weights.ts";
import type { Model } from "../model/model.ts";
import { PackedTensors } from "../model/packed_tensors.ts";
import type { PlanSizes } from "../model/sized_plan.ts";
import type { ValueHeadTensors } from "../ops/value_head.ts";
import type { TrainRow } from "../schema/engine.ts";
import type { CriticUpdateRequest } from "../schema/row_scores.ts";
import { Optimizer } from "./optimizer.ts";
import { ValueFunction, type ValueStep } from "./value_function.ts";

/** A critic of its own on the device: a decoder with a value head, its optimizer, and the values it gives states. */
export class Critic {
  readonly model: Model;
  private readonly gradients: PackedTensors;
  private readonly optimizer: Optimizer;
  private readonly value: ValueFunction;

  /** `model` is one that `loadCritic` made. @throws DeviceError "device_memory" */
  constructor(model: Model, microBatchTokens: number) {
    this.model = model;
    this.gradients = new PackedTensors(model.device, model.trained.layout, "critic_gradients");
    this.optimizer = new Optimizer(model.device, model.trained, this.gradients);
    const decoder = model.gradients(this.gradients);
    this.value = new ValueFunction(
      { decoder: model, head: headOf(model.weights) },
      {
        gradients: { decoder, head: headOf(decoder) },
        clear: () => this.gradients.clear(),
        step: (config) => this.optimizer.step(config),
      },
      microBatchTokens,
    );
  }

  /** The value of the state before every record's token, row by row. @throws LeydenError as packRows */
  values(rows: readonly TrainRow[]): Promise<Float32Array> {
    return this.value.values(rows);
  }

  /** One optimizer step on the rows' value loss. @throws LeydenError as ValueFunction.step */
  step(rows: readonly TrainRow[], how: Pick<CriticUpdateRequest, "optimizer" | "clipRange">): Promise<ValueStep> {
    return this.value.step(rows, how);
  }

  /** The optimizer's moments as the bytes of a safetensors file. */
  optimizerFile(): Promise<Uint8Array> {
    return this.optimizer.encode(this.model.savedForm);
  }

  /** Continues from what `optimizerFile` returned. @throws FormatError when it is another model's or damaged */
  async restoreOptimizer(bytes: Uint8Array): Promise<void> {
    await this.optimizer.restore(this.model.savedForm, "critic/optimizer.safetensors", bytes);
  }

  /** Bytes of its plans for micro-batches of these sizes, on a counting device. */
  measure(sizes: PlanSizes): number {
    return this.value.measure(sizes) + this.optimizer.measure();
  }

  /** Releases everything but the model. */
  dispose(): void {
    this.value.dispose();
    this.optimizer.dispose();
    this.gradients.dispose();
  }
}

/** The value head of a critic's decoder, or its gradients. */
function headOf({ head, headBias }: Pick<DecoderWeights | DecoderGradients, "head" | "headBias">): ValueHeadTensors {
  return { w: head as Tensor, bias: headBias as Tensor };
}
