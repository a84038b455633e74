import { LeydenError } from "../core/errors.ts";
import { sizeOf } from "../core/shape.ts";
import type { Capabilities } from "../gpu/capabilities.ts";
import { type KvFormat, kvFormatBytes } from "../ops/kv_pages.ts";
import { type DecoderDescription, qkvWidth, upWidth } from "./decoder.ts";
import { parameterSpecs } from "./parameter_layout.ts";

const mebibyte = 1024 * 1024;

/** What the division of device memory starts from. */
export interface MemoryRequest {
  readonly budgetBytes: number;
  readonly limits: Pick<Capabilities["limits"], "maxBufferBytes" | "maxBindingBytes">;
  /** False for a server that never trains: no gradients, optimizer or activations. */
  readonly train: boolean;
  /** Tokens of a training micro-batch; default as many as fit, at most 8,192. */
  readonly microBatchTokens?: number;
  /** Tokens whose keys and values are held at once; default as many as fit, at most 64 contexts. */
  readonly kvTokens?: number;
  /** How keys and values are held; default f32. */
  readonly kvFormat?: KvFormat;
}

/** How a byte budget is divided. All sizes in bytes unless they say tokens. */
export interface MemoryPlan {
  readonly budgetBytes: number;
  readonly parameterBytes: number;
  readonly gradientBytes: number;
  readonly optimizerBytes: number;
  /** Logits of the loss head's chunks. */
  readonly lossHeadBytes: number;
  readonly activationBytesPerToken: number;
  readonly kvBytesPerToken: number;
  readonly microBatchTokens: number;
  readonly kvTokens: number;
}

const maxMicroBatchTokens = 8192;
const maxContexts = 64;
/** Fewer tokens than these do no useful work. */
const minTokens = 128;

/** Largest size of one chunk of logits in the loss head; a chunk has a gradient of the same size in place. */
export const lossHeadChunkBytes: number = 64 * mebibyte;

/**
 * Bytes planned for when the user names none: WebGPU does not tell how much memory a device has, so this stays where
 * common machines do. Software adapters use the system's memory.
 */
export function defaultBudgetBytes(deviceClass: Capabilities["deviceClass"]): number {
  return (deviceClass === "software" ? 2048 : 4096) * mebibyte;
}

/** Bytes that one token of a micro-batch keeps from forward to backward, gradients in flight included. */
export function activationBytesPerToken(d: DecoderDescription): number {
  const q = qkvWidth(d);
  const up = upWidth(d);
  const attention = d.heads * d.headDim;
  // Residual before attention and MLP, both norms' outputs, q k v (twice with head norms), attention, MLP, statistics.
  const headNormed = d.headNorm ? q + d.heads + d.kvHeads : 0;
  const perLayer = 4 * d.width + q + headNormed + attention + d.heads + up + d.ffn + 4;
  const inFlight = Math.max(d.ffn + up + d.width, attention + q + headNormed + d.heads + d.width);
  const ends = 4 * d.width;
  return 4 * (d.layers * perLayer + inFlight + ends);
}

/** Bytes of the keys and values of one token. */
export function kvBytesPerToken(d: DecoderDescription, format: KvFormat = "f32"): number {
  return kvFormatBytes[format] * 2 * d.layers * d.kvHeads * d.headDim;
}

/**
 * Divides a byte budget between parameters, training and the key-value cache before anything is allocated: the smallest
 * useful numbers of tokens first, then the rest in halves, and what one half cannot use goes to the other.
 * @throws LeydenError "memory_budget" naming the numbers to change when it is too small
 */
export function memoryPlan(d: DecoderDescription, request: MemoryRequest): MemoryPlan {
  const { budgetBytes, train } = request;
  const parameterBytes = 4 * parameterSpecs(d).reduce((n, s) => n + sizeOf(s.shape), 0);
  const fixed = {
    budgetBytes,
    parameterBytes,
    gradientBytes: train ? parameterBytes : 0,
    optimizerBytes: train ? 2 * parameterBytes : 0,
    lossHeadBytes: train ? Math.min(lossHeadChunkBytes, 4 * d.vocabSize * maxMicroBatchTokens) : 0,
    activationBytesPerToken: activationBytesPerToken(d),
    kvBytesPerToken: kvBytesPerToken(d, request.kvFormat),
  };
  const caps = deviceCaps(d, request, fixed);
  const useful = {
    microBatchTokens: Math.min(caps.microBatchTokens, maxMicroBatchTokens),
    kvTokens: Math.min(caps.kvTokens, maxContexts * d.contextLength),
  };
  const fewest = Math.min(minTokens, d.contextLength);
  const least = {
    microBatchTokens: train ? (request.microBatchTokens ?? Math.min(fewest, useful.microBatchTokens)) : 0,
    kvTokens: request.kvTokens ?? Math.min(fewest, useful.kvTokens),
  };
  requireDeviceFit(least, caps);
  const rest = budgetBytes - usedBytes({ ...fixed, ...least });
  if (rest < 0) throw budgetTooSmall({ ...fixed, ...least }, train);
  const room = {
    train: train && request.microBatchTokens === undefined ? useful.microBatchTokens - least.microBatchTokens : 0,
    kv: request.kvTokens === undefined ? useful.kvTokens - least.kvTokens : 0,
  };
  const more = (bytes: number, bytesPerToken: number, most: number): number =>
    Math.min(most, Math.floor(bytes / bytesPerToken));
  const halfKv = more(rest / 2, fixed.kvBytesPerToken, room.kv);
  const moreTrain = more(rest - halfKv * fixed.kvBytesPerToken, fixed.activationBytesPerToken, room.train);
  const moreKv = more(rest - moreTrain * fixed.activationBytesPerToken, fixed.kvBytesPerToken, room.kv);
  return {
    ...fixed,
    microBatchTokens: least.microBatchTokens + moreTrain,
    kvTokens: least.kvTokens + moreKv,
  };
}

type Tokens = Pick<MemoryPlan, "microBatchTokens" | "kvTokens">;

function usedBytes(p: MemoryPlan): number {
  const state = p.parameterBytes + p.gradientBytes + p.optimizerBytes + p.lossHeadBytes;
  return state + p.microBatchTokens * p.activationBytesPerToken + p.kvTokens * p.kvBytesPerToken;
}

/** Most tokens that the device's buffers and bindings can hold. */
function deviceCaps(
  d: DecoderDescription,
  { limits, kvFormat }: Pick<MemoryRequest, "limits" | "kvFormat">,
  { activationBytesPerToken: activationBytes }: Pick<MemoryPlan, "activationBytesPerToken">,
): Tokens {
  const widestRow = 4 * Math.max(qkvWidth(d), upWidth(d), d.width);
  const keyRow = kvBytesPerToken(d, kvFormat) / (2 * d.layers);
  return {
    microBatchTokens: Math.floor(Math.min(limits.maxBindingBytes / widestRow, limits.maxBufferBytes / activationBytes)),
    kvTokens: Math.floor(limits.maxBindingBytes / keyRow),
  };
}

function requireDeviceFit(least: Tokens, caps: Tokens): void {
  for (const [key, option] of [
    ["microBatchTokens", "train.microBatchTokens"],
    ["kvTokens", "model.kvTokens"],
  ] as const) {
    if (least[key] <= caps[key]) continue;
    throw new LeydenError(
      "memory_budget",
      `${option} is ${least[key]}; the buffers of this device hold at most ${caps[key]}.`,
      { do: `Set ${option} to ${caps[key]} or less.`, data: { [key]: least[key], cap: caps[key] } },
    );
  }
}

function budgetTooSmall(least: MemoryPlan, train: boolean): LeydenError {
  const mib = (bytes: number): string => `${(Math.ceil((10 * bytes) / mebibyte) / 10).toFixed(1)} MiB`;
  const state = least.parameterBytes + least.gradientBytes + least.optimizerBytes;
  const parts = [
    `parameters${train ? ", gradients and optimizer" : ""} ${mib(state)}`,
    `${least.kvTokens} cached tokens ${mib(least.kvTokens * least.kvBytesPerToken)}`,
  ];
  if (train) {
    const activations = least.microBatchTokens * least.activationBytesPerToken;
    parts.push(`a micro-batch of ${least.microBatchTokens} tokens ${mib(activations + least.lossHeadBytes)}`);
  }
  return new LeydenError(
    "memory_budget",
    `A memory budget of ${mib(least.budgetBytes)} is too small: ${parts.join(", ")}.`,
    {
      do: `Give a budget of at least ${mib(usedBytes(least))}, lower train.microBatchTokens or model.kvTokens, or use a smaller model.`,
      data: { ...least, minimumBytes: usedBytes(least) },
    },
  );
}
