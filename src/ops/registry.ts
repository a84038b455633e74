import { activation } from "./activation.ts";
import { attention } from "./attention.ts";
import { embedding } from "./embedding.ts";
import { headNorm } from "./head_norm.ts";
import { layernorm } from "./layernorm.ts";
import { linear } from "./linear.ts";
import { lora } from "./lora.ts";
import { rmsnorm } from "./rmsnorm.ts";
import { rope } from "./rope.ts";

/** What every operation says of itself; its inputs and outputs have types of their own. */
export interface RegisteredOp {
  readonly name: string;
  readonly parameters: readonly string[];
  readonly activations: readonly string[];
}

/** Every differentiable operation, one line each. Tests go through the list; models import what they use. */
export const ops: readonly RegisteredOp[] = [
  activation,
  attention,
  embedding,
  headNorm,
  layernorm,
  linear,
  lora,
  rmsnorm,
  rope,
];
