import type { Device } from "../gpu/device.ts";
import type { DecoderGradients, DecoderWeights } from "./decoder_weights.ts";
import type { LayerContext } from "./layer.ts";
import type { SavedForm } from "./load_weights.ts";
import type { PackedTensors } from "./packed_tensors.ts";

/** A decoder as plans record it: its description and views of its weights on a device. */
export interface Decoder extends LayerContext {
  readonly device: Device;
  readonly weights: DecoderWeights;
}

/** A decoder that can be trained: a model with all its weights, or an adapter beside frozen ones. */
export interface Policy extends Decoder {
  /** What an optimizer changes, f32. */
  readonly trained: PackedTensors;
  /** How files name these tensors. */
  readonly savedForm: SavedForm;
  /** Gradients packed like `trained`, by role; what is frozen has none. */
  gradients(packed: PackedTensors): DecoderGradients;
}
