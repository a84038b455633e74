import type { FileDType } from "../core/dtype.ts";
import { sizeOf } from "../core/shape.ts";
import type { Device } from "../gpu/device.ts";
import { uploadTensor } from "../gpu/readback.ts";
import type { Tensor } from "../gpu/tensor.ts";
import type { HfConfig } from "../io/hf_config.ts";
import type { TensorSource } from "../io/safetensors.ts";
import { saveModel } from "../io/save_model.ts";
import { weightsSha256 } from "../io/weights_hash.ts";
import type { Files } from "../schema/files.ts";
import type { DecoderDescription } from "./decoder.ts";
import { type DecoderGradients, type DecoderWeights, decoderWeights } from "./decoder_weights.ts";
import type { Family } from "./families/family.ts";
import { familyOf } from "./families/registry.ts";
import { type InitOptions, initializeParameters } from "./initialize.ts";
import { loadWeights, type SavedForm, savedForm, type WeightSource } from "./load_weights.ts";
import { PackedTensors, type ParameterReader } from "./packed_tensors.ts";
import { frozenSpecs, layOutParameters, parameterSpecs, type WeightType } from "./parameter_layout.ts";
import type { Policy } from "./policy.ts";
import { rotaryFrequencies } from "./rotary.ts";

/** Names of `torch_dtype` and `dtype`. */
const configDType: Readonly<Record<FileDType, string>> = { F32: "float32", F16: "float16", BF16: "bfloat16" };

/** A decoder with its parameters on a device. */
export class Model implements Policy {
  readonly device: Device;
  readonly config: HfConfig;
  readonly family: Family;
  readonly description: DecoderDescription;
  readonly parameters: PackedTensors;
  /** How its matrices are held. */
  readonly type: WeightType;
  readonly weights: DecoderWeights;
  /** Rotation per position of each pair (rotaryDim / 2), when positions are rotary. */
  readonly inverseFrequencies: Tensor | undefined;

  private constructor(device: Device, config: HfConfig, type: WeightType) {
    this.device = device;
    this.config = config;
    this.type = type;
    this.family = familyOf(config);
    this.description = this.family.describe(config);
    const limits = device.caps.limits;
    const layout = layOutParameters(frozenSpecs(parameterSpecs(this.description), type), {
      maxSegmentBytes: limits.maxBufferBytes,
      alignment: limits.offsetAlignment,
    });
    this.parameters = new PackedTensors(device, layout, "parameters");
    this.weights = decoderWeights(this.description, this.parameters);
    const positions = this.description.positions;
    this.inverseFrequencies =
      positions.kind === "rotary"
        ? uploadTensor(device, "inverse_frequencies", [positions.rotaryDim / 2], rotaryFrequencies(positions))
        : undefined;
  }

  /**
   * A model with the weights of `source`; other types than f32 are for models that are not trained themselves.
   * @throws FormatError naming the option, tensor or shape that does not fit, or a weight too large for its type
   */
  static async load(
    device: Device,
    config: HfConfig,
    source: WeightSource,
    { type = "f32" }: { readonly type?: WeightType } = {},
  ): Promise<Model> {
    const model = new Model(device, config, type);
    try {
      await loadWeights(source, model.savedForm, model.parameters);
      return model;
    } catch (error) {
      model.dispose();
      throw error;
    }
  }

  /** A model without weights, on a counting device, to find out what it takes. */
  static blank(device: Device, config: HfConfig, type: WeightType): Model {
    return new Model(device, config, type);
  }

  /** A model with random weights. */
  static initialize(device: Device, config: HfConfig, init: InitOptions & { readonly type?: WeightType }): Model {
    const model = new Model(device, config, init.type ?? "f32");
    initializeParameters(model.family, model.description, model.parameters, init);
    return model;
  }

  get trained(): PackedTensors {
    return this.parameters;
  }

  get savedForm(): SavedForm {
    return savedForm(this.family, this.description);
  }

  gradients(packed: PackedTensors): DecoderGradients {
    return decoderWeights(this.description, packed);
  }

  /** The weights as a file of `dtype` holds them, each read from the device when its turn comes. */
  tensorSources(dtype: FileDType = "F32"): TensorSource[] {
    return namedTensors(this.savedForm, this.parameters, dtype);
  }

  /** The same, copied from the device at once: for models that fit in the host's memory twice. */
  async hostTensorSources(dtype: FileDType = "F32"): Promise<TensorSource[]> {
    return namedTensors(this.savedForm, await this.parameters.toHost(), dtype);
  }

  /** config.json for weights saved as `dtype`; all else as it was loaded. */
  savedConfig(dtype: FileDType = "F32"): Record<string, unknown> {
    const key = "dtype" in this.config.raw ? "dtype" : "torch_dtype";
    return { ...this.config.raw, [key]: configDType[dtype] };
  }

  /** Writes the model folder: config.json and model.safetensors. */
  async save(files: Files, folder: string, dtype: FileDType = "F32"): Promise<void> {
    await saveModel(files, folder, { config: this.savedConfig(dtype), tensors: this.tensorSources(dtype) });
  }

  /** SHA-256 of the f32 weights: over tensors sorted by name, each its name, type, shape and bytes. */
  sha256(): Promise<string> {
    return weightsSha256(this.tensorSources());
  }

  /** Releases the device memory. */
  dispose(): void {
    this.parameters.dispose();
    if (this.inverseFrequencies?.storage.kind === "buffer") {
      this.device.pool.release(this.inverseFrequencies.storage.buffer);
    }
  }
}

/** Packed tensors under the names that files give them, with a prefix for optimizer moments. */
export function namedTensors(
  form: Pick<SavedForm, "tensors">,
  packed: ParameterReader,
  dtype: FileDType = "F32",
  prefix = "",
): TensorSource[] {
  return form.tensors.map((t) => ({
    name: `${prefix}${t.name}`,
    dtype,
    shape: t.shape,
    load: () => packed.read(t.parameter, t.offset, sizeOf(t.shape)),
  }));
}
