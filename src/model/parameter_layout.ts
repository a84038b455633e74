import { blockColumns, type DType, elementBytes } from "../core/dtype.ts";
import { DeviceError } from "../core/errors.ts";
import { alignUp, type Shape, sizeOf } from "../core/shape.ts";
import { type DecoderDescription, qkvWidth, upWidth } from "./decoder.ts";

/** How a parameter starts when there are no weights to load. */
export type InitRule = "matrix" | "residual" | "embedding" | "one" | "zero";

/** One parameter as the forward pass uses it: projections that read the same rows are fused into one matrix. */
export interface ParameterSpec {
  readonly name: string;
  readonly shape: Shape;
  readonly init: InitRule;
  /** f32 by default; f16 and i8 for frozen matrices. */
  readonly dtype?: DType;
}

/** A parameter's place in the packed buffers. */
export interface PlacedParameter extends ParameterSpec {
  readonly dtype: DType;
  readonly segment: number;
  readonly offsetBytes: number;
  /** Where the scales of an i8 matrix lie, in the same segment. */
  readonly scalesOffsetBytes: number;
}

/** One layout serves parameters, gradients and both optimizer moments. */
export interface ParameterLayout {
  readonly parameters: ReadonlyMap<string, PlacedParameter>;
  /** Bytes of each packed buffer; one unless the device's largest buffer is too small. */
  readonly segmentBytes: readonly number[];
  /** Number of parameters (elements), padding excluded. */
  readonly count: number;
}

/** How the matrices of a model that is not trained itself are held on the device. */
export type WeightType = "f32" | "f16" | "int8";

/**
 * The parameters with frozen matrices in a smaller type; norms and biases stay f32, as does a matrix of odd width. With
 * int8 the embedding and the head are f16, like a matrix whose rows are no whole blocks: their error reaches the
 * logits directly.
 */
export function frozenSpecs(specs: readonly ParameterSpec[], type: WeightType): ParameterSpec[] {
  return specs.map((spec) => {
    const [, cols = 0] = spec.shape;
    if (type === "f32" || spec.shape.length !== 2 || spec.name === "positions" || cols % 2 !== 0) return spec;
    const fits = type === "int8" && cols % blockColumns === 0 && spec.name !== "embed" && spec.name !== "head";
    return { ...spec, dtype: fits ? "i8" : "f16" };
  });
}

/** Parameters of a decoder in a fixed order: embedding, positions, layers, final norm, head. */
export function parameterSpecs(d: DecoderDescription): ParameterSpec[] {
  const embedding: ParameterSpec[] = [{ name: "embed", shape: [d.vocabSize, d.width], init: "embedding" }];
  if (d.positions.kind === "learned") {
    embedding.push({ name: "positions", shape: [d.contextLength, d.width], init: "embedding" });
  }
  const layers = Array.from({ length: d.layers }, (_, i) => layerSpecs(d, `layers.${i}`)).flat();
  return [...embedding, ...layers, ...normSpecs(d, "norm"), ...headSpecs(d)];
}

/** A value head starts at 0: nothing is expected of any state. */
function headSpecs(d: DecoderDescription): ParameterSpec[] {
  if (d.headRows !== undefined) {
    return [
      { name: "head", shape: [d.headRows, d.width], init: "zero" },
      { name: "head.bias", shape: [d.headRows], init: "zero" },
    ];
  }
  return d.tiedHead ? [] : [{ name: "head", shape: [d.vocabSize, d.width], init: "matrix" }];
}

function layerSpecs(d: DecoderDescription, at: string): ParameterSpec[] {
  const attentionWidth = d.heads * d.headDim;
  const headNorms: ParameterSpec[] = d.headNorm
    ? ["q_norm", "k_norm"].map((n) => ({ name: `${at}.${n}`, shape: [d.headDim], init: normInit(d) }))
    : [];
  return [
    ...normSpecs(d, `${at}.norm1`),
    ...linearSpecs(d, `${at}.qkv`, d.width, qkvWidth(d), d.bias.qkv, "matrix"),
    ...headNorms,
    ...linearSpecs(d, `${at}.out`, attentionWidth, d.width, d.bias.attentionOut, "residual"),
    ...normSpecs(d, `${at}.norm2`),
    ...linearSpecs(d, `${at}.up`, d.width, upWidth(d), d.bias.mlp, "matrix"),
    ...linearSpecs(d, `${at}.down`, d.ffn, d.width, d.bias.mlp, "residual"),
  ];
}

function linearSpecs(
  d: DecoderDescription,
  name: string,
  input: number,
  output: number,
  bias: boolean,
  init: InitRule,
): ParameterSpec[] {
  const shape = d.weightLayout === "out_in" ? [output, input] : [input, output];
  const specs: ParameterSpec[] = [{ name, shape, init }];
  if (bias) specs.push({ name: `${name}.bias`, shape: [output], init: "zero" });
  return specs;
}

function normSpecs(d: DecoderDescription, name: string): ParameterSpec[] {
  const weight: ParameterSpec = { name, shape: [d.width], init: normInit(d) };
  return d.norm.kind === "layer" ? [weight, { name: `${name}.bias`, shape: [d.width], init: "zero" }] : [weight];
}

/** A zero-centred weight starts at 0, so that shift + weight is 1. */
function normInit(d: DecoderDescription): InitRule {
  return d.norm.kind === "rms" && d.norm.shift === 1 ? "zero" : "one";
}

/**
 * Places parameters one after another at multiples of `alignment` bytes, starting a new segment where the next one
 * would pass `maxSegmentBytes`. @throws DeviceError "device_memory" for a parameter that no buffer can hold.
 */
export function layOutParameters(
  specs: readonly ParameterSpec[],
  limits: { maxSegmentBytes: number; alignment: number },
): ParameterLayout {
  const parameters = new Map<string, PlacedParameter>();
  const segmentBytes: number[] = [0];
  for (const spec of specs) {
    const dtype = spec.dtype ?? "f32";
    const own = alignUp(elementBytes[dtype] * sizeOf(spec.shape), limits.alignment);
    const scales = dtype === "i8" ? (elementBytes.f32 * sizeOf(spec.shape)) / blockColumns : 0;
    const bytes = own + alignUp(scales, limits.alignment);
    if (bytes > limits.maxSegmentBytes) {
      throw new DeviceError(
        "device_memory",
        `Parameter "${spec.name}" (${spec.shape.join(",")}) takes ${bytes} bytes; this device allows ${limits.maxSegmentBytes} in one buffer.`,
        { do: "Use a model with a smaller vocabulary or width, or a device with larger buffers." },
      );
    }
    if ((segmentBytes.at(-1) as number) + bytes > limits.maxSegmentBytes) segmentBytes.push(0);
    const segment = segmentBytes.length - 1;
    const offsetBytes = segmentBytes[segment] as number;
    parameters.set(spec.name, { ...spec, dtype, segment, offsetBytes, scalesOffsetBytes: offsetBytes + own });
    segmentBytes[segment] = (segmentBytes[segment] as number) + bytes;
  }
  return { parameters, segmentBytes, count: specs.reduce((n, s) => n + sizeOf(s.shape), 0) };
}
