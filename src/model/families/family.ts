import type { Shape } from "../../core/shape.ts";
import type { HfConfig } from "../../io/hf_config.ts";
import type { DecoderDescription } from "../decoder.ts";

/** A tensor of a saved model and where its values lie: a contiguous range of one parameter. */
export interface FileTensor {
  readonly name: string;
  readonly shape: Shape;
  readonly parameter: string;
  /** First element inside the parameter; 0 unless the parameter fuses several tensors. */
  readonly offset: number;
}

/** A kind of model: how its config.json describes a decoder and how its files name the tensors. */
export interface Family {
  readonly name: string;
  /** Values of `model_type` it answers to. */
  readonly modelTypes: readonly string[];
  /** Values of `architectures` it answers to; a config that names only others is refused. */
  readonly architectures: readonly string[];
  /** What the names of a causal model start with; files of the bare base model leave it out. */
  readonly prefix: string;
  /** @throws FormatError "model_config" for a bad field; "model_unsupported" for an option that is not supported */
  describe(config: HfConfig): DecoderDescription;
  /** Tensors of a saved model, in the order of `parameterSpecs`, `lm_head.weight` included when the head is untied. */
  tensors(description: DecoderDescription): FileTensor[];
  /** True for tensors in files that carry no weights: buffers, and the head's copy when it is tied. */
  isRedundant(name: string, description: DecoderDescription): boolean;
}
