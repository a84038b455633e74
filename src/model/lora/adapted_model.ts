import type { Tensor } from "../../gpu/tensor.ts";
import type { DecoderDescription } from "../decoder.ts";
import { type DecoderGradients, type DecoderWeights, decoderWeights } from "../decoder_weights.ts";
import type { Family } from "../families/family.ts";
import type { Model } from "../model.ts";
import type { PackedTensors } from "../packed_tensors.ts";
import type { Policy } from "../policy.ts";
import type { Adapter } from "./adapter.ts";

/** A model with an adapter beside its frozen weights; several may share one model. */
export class AdaptedModel implements Policy {
  readonly base: Model;
  readonly adapter: Adapter;
  readonly weights: DecoderWeights;

  constructor(base: Model, adapter: Adapter) {
    this.base = base;
    this.adapter = adapter;
    this.weights = decoderWeights(base.description, base.parameters, (name) => adapter.pair(name));
  }

  get device(): Model["device"] {
    return this.base.device;
  }

  get family(): Family {
    return this.base.family;
  }

  get description(): DecoderDescription {
    return this.base.description;
  }

  get inverseFrequencies(): Tensor | undefined {
    return this.base.inverseFrequencies;
  }

  get trained(): PackedTensors {
    return this.adapter.parameters;
  }

  get savedForm(): Policy["savedForm"] {
    return this.adapter.savedForm;
  }

  gradients(packed: PackedTensors): DecoderGradients {
    return this.adapter.gradients(packed, this.description.layers);
  }
}
