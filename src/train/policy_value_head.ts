import type { Tensor } from "../gpu/tensor.ts";
import { PackedTensors } from "../model/packed_tensors.ts";
import type { Decoder } from "../model/policy.ts";
import type { PlanSizes } from "../model/sized_plan.ts";
import { type ValueHead, valueHeadFiles } from "../model/value_head.ts";
import type { ValueHeadTensors } from "../ops/value_head.ts";
import type { TrainRow } from "../schema/engine.ts";
import type { OptimizerConfig, ValueLossConfig } from "../schema/loss.ts";
import type { CriticUpdateRequest } from "../schema/row_scores.ts";
import { Optimizer } from "./optimizer.ts";
import { ValueFunction, type ValueStep } from "./value_function.ts";

/**
 * A value head that learns beside its policy: its gradients come out of the policy's own passes, its norm is clipped with
 * theirs, and it has moments and a learning rate of its own.
 */
export class PolicyValueHead {
  readonly gradients: PackedTensors;
  private readonly head: ValueHead;
  private readonly optimizer: Optimizer;
  private readonly value: ValueFunction;

  /** `policyGradients`: what the policy's steps clip. @throws DeviceError "device_memory" */
  constructor(policy: Decoder, head: ValueHead, policyGradients: PackedTensors, microBatchTokens: number) {
    const { device } = policy;
    this.head = head;
    this.gradients = new PackedTensors(device, head.parameters.layout, "value_head_gradients");
    this.optimizer = new Optimizer(device, head.parameters, this.gradients, { clippedWith: policyGradients });
    this.value = new ValueFunction(
      { decoder: policy, head: head.tensors() },
      {
        gradients: { decoder: null, head: this.gradientTensors },
        clear: () => this.gradients.clear(),
        step: (config) => this.optimizer.step(config, { alone: true }),
      },
      microBatchTokens,
    );
  }

  /** Weight (1,C) and bias (1) of the head. */
  get tensors(): ValueHeadTensors {
    return this.head.tensors();
  }

  /** Where their gradients go. */
  get gradientTensors(): { readonly w: Tensor; readonly bias: Tensor } {
    return this.head.tensors(this.gradients);
  }

  /** Takes the head's part in a step of its policy, on gradients that both have collected. */
  async stepWithPolicy(optimizer: OptimizerConfig, { learningRate }: ValueLossConfig, factor: number): Promise<void> {
    await this.optimizer.step({ ...optimizer, learningRate }, { factor });
  }

  /** A step of the head alone, the policy as it is. @throws LeydenError as ValueFunction.step */
  step(rows: readonly TrainRow[], how: Pick<CriticUpdateRequest, "optimizer" | "clipRange">): Promise<ValueStep> {
    return this.value.step(rows, how);
  }

  /** The value of the state before every record's token, row by row. @throws LeydenError as packRows */
  values(rows: readonly TrainRow[]): Promise<Float32Array> {
    return this.value.values(rows);
  }

  /** The optimizer's moments as the bytes of a safetensors file. */
  optimizerFile(): Promise<Uint8Array> {
    return this.optimizer.encode(this.head.savedForm);
  }

  /** Continues from what `optimizerFile` returned. @throws FormatError when it is damaged */
  async restoreOptimizer(bytes: Uint8Array): Promise<void> {
    await this.optimizer.restore(this.head.savedForm, valueHeadFiles.optimizer, bytes);
  }

  /** Bytes of its own plans for micro-batches of these sizes, on a counting device. */
  measure(sizes: PlanSizes): number {
    return this.value.measure(sizes) + this.optimizer.measure();
  }

  /** Releases everything but the head. */
  dispose(): void {
    this.value.dispose();
    this.optimizer.dispose();
    this.gradients.dispose();
  }
}
