import { LeydenError } from "../core/errors.ts";
import { type DecoderDescription, qkvWidth, upWidth } from "../model/decoder.ts";
import { kvBytesPerToken, mebibyte } from "../model/memory_budget.ts";
import { pageTokens } from "../ops/kv_pages.ts";
import { MemoryRehearsal, type Rehearsed } from "./memory_rehearsal.ts";

/** What the division of device memory starts from. */
export interface MemoryRequest extends Rehearsed {
  readonly budgetBytes: number;
  /** Bytes of other models on the device, such as a reference policy. */
  readonly otherBytes: number;
  /** Tokens of a training micro-batch; default as many as fit, at most 8,192. */
  readonly microBatchTokens?: number;
  /** Tokens whose keys and values are held at once; default as many as fit, at most 64 contexts. */
  readonly kvTokens?: number;
  /** Lowest blocks that backward computes again; default as few as the memory allows. */
  readonly recomputedLayers?: number;
}

/** How a byte budget is divided. All sizes in bytes unless they say otherwise. */
export interface MemoryPlan {
  readonly budgetBytes: number;
  /** The model, adapters, and other models. */
  readonly weightBytes: number;
  /** Gradients and moments of what is trained. */
  readonly optimizerBytes: number;
  /** A training step's activations, logits and inputs. */
  readonly trainingBytes: number;
  /** Prefill and decode steps, without keys and values. */
  readonly inferenceBytes: number;
  readonly cacheBytes: number;
  /** Sum of the parts: the most that is in use at once. */
  readonly totalBytes: number;
  readonly microBatchTokens: number;
  readonly recomputedLayers: number;
  readonly kvTokens: number;
  /** Numbers in the model's parameters. */
  readonly parameters: number;
}

const maxMicroBatchTokens = 8192;
const maxContexts = 64;
/** Fewer tokens than these do no useful work. */
const minTokens = 128;
/** Rows of agents are long: blocks are recomputed before a micro-batch gets shorter than this (or a context). */
const usefulMicroBatchTokens = 2048;

/** Numbers that a plan decides. */
type Choice = Pick<MemoryPlan, "microBatchTokens" | "recomputedLayers" | "kvTokens">;

/**
 * Divides a byte budget between parameters, training and the key-value cache before anything of it is allocated, by
 * rehearsal: the bytes are those that the programs themselves ask for. The smallest useful numbers of tokens come first,
 * then the rest in halves, and what one half cannot use goes to the other; blocks are recomputed where that makes a
 * micro-batch useful.
 * @throws LeydenError "memory_budget" naming the numbers to change when it is too small
 */
export function planMemory(request: MemoryRequest): MemoryPlan {
  return new Planner(request).plan();
}

class Planner {
  private readonly request: MemoryRequest;
  private readonly rehearsal: MemoryRehearsal;
  private readonly d: DecoderDescription;
  private readonly kvBytes: number;
  private readonly trains: boolean;
  private readonly inferenceBytes: number;

  constructor(request: MemoryRequest) {
    this.request = request;
    this.rehearsal = new MemoryRehearsal(request);
    this.d = this.rehearsal.description;
    this.kvBytes = kvBytesPerToken(this.d, request.inference?.kvFormat);
    this.trains = request.training !== null;
    this.inferenceBytes = this.rehearsal.inference(1).plans;
  }

  plan(): MemoryPlan {
    const { d, request, trains } = this;
    const caps = this.deviceCaps();
    const fewest = Math.min(minTokens, d.contextLength);
    const kvMost = request.inference === null ? 0 : Math.min(caps.kvTokens, maxContexts * d.contextLength);
    const least = {
      microBatchTokens: trains ? (request.microBatchTokens ?? Math.min(fewest, caps.microBatchTokens)) : 0,
      kvTokens: request.kvTokens ?? Math.min(fewest, kvMost),
    };
    requireDeviceFit(least, caps);
    const rest = request.budgetBytes - this.parts({ ...least, recomputedLayers: this.mostRecomputed() }).totalBytes;
    if (rest < 0) throw this.tooSmall({ ...least, recomputedLayers: this.mostRecomputed() });
    const kvRoom = request.kvTokens === undefined ? kvMost - least.kvTokens : 0;
    const halfKv = Math.min(kvRoom, Math.floor(rest / 2 / this.kvBytes));
    const trained = this.chooseTraining(
      least,
      least.kvTokens + halfKv,
      Math.min(caps.microBatchTokens, maxMicroBatchTokens),
    );
    const left = request.budgetBytes - this.parts({ ...trained, kvTokens: least.kvTokens }).totalBytes;
    const kvTokens = least.kvTokens + Math.max(0, Math.min(kvRoom, Math.floor(left / this.kvBytes)));
    return this.parts({ ...trained, kvTokens });
  }

  /** The micro-batch and recomputed blocks that fit beside a cache of `kvTokens`. */
  private chooseTraining(
    least: { microBatchTokens: number },
    kvTokens: number,
    most: number,
  ): Omit<Choice, "kvTokens"> {
    const { request, d } = this;
    if (!this.trains) return { microBatchTokens: 0, recomputedLayers: 0 };
    const fits = (microBatchTokens: number, recomputedLayers: number): boolean =>
      this.parts({ microBatchTokens, recomputedLayers, kvTokens }).totalBytes <= request.budgetBytes;
    const wanted =
      request.microBatchTokens ??
      Math.min(most, Math.max(least.microBatchTokens, d.contextLength, usefulMicroBatchTokens));
    const recomputedLayers = request.recomputedLayers ?? this.fewest(d.layers - 1, (layers) => fits(wanted, layers));
    if (request.microBatchTokens !== undefined) return { microBatchTokens: wanted, recomputedLayers };
    const tokens = this.largest(least.microBatchTokens, most, (n) => fits(n, recomputedLayers));
    return { microBatchTokens: tokens, recomputedLayers };
  }

  /** The smallest of 0 to `most` that will do; `most` when none does. */
  private fewest(most: number, holds: (n: number) => boolean): number {
    if (holds(0)) return 0;
    let [low, high] = [0, most];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (holds(middle)) high = middle;
      else low = middle;
    }
    return high;
  }

  /** The largest of `least` to `most` that will do, to within one in a hundred; `least` when none does. */
  private largest(least: number, most: number, holds: (n: number) => boolean): number {
    if (holds(most)) return most;
    let [low, high] = [least, most];
    while (high - low > Math.max(1, low / 100)) {
      const middle = (low + high) >> 1;
      if (holds(middle)) low = middle;
      else high = middle;
    }
    return low;
  }

  /** Backward begins with the highest block: to compute that again would save nothing. */
  private mostRecomputed(): number {
    return this.trains ? (this.request.recomputedLayers ?? this.d.layers - 1) : 0;
  }

  private parts(choice: Choice): MemoryPlan {
    const { request, rehearsal } = this;
    const training = rehearsal.training(choice.microBatchTokens, choice.recomputedLayers);
    const pages = request.inference === null ? 0 : Math.max(1, Math.floor(choice.kvTokens / pageTokens));
    const parts = {
      weightBytes: rehearsal.weightBytes + request.otherBytes,
      optimizerBytes: training.optimizer,
      trainingBytes: training.plans,
      inferenceBytes: this.inferenceBytes,
      cacheBytes: pages * pageTokens * this.kvBytes,
    };
    const totalBytes = Object.values(parts).reduce((a, b) => a + b, 0);
    return { budgetBytes: request.budgetBytes, ...parts, totalBytes, ...choice, parameters: rehearsal.parameters };
  }

  /** Most tokens that the device's buffers and bindings can hold; blocks are recomputed if need be. */
  private deviceCaps(): Pick<Choice, "microBatchTokens" | "kvTokens"> {
    const { maxBindingBytes, maxBufferBytes } = this.request.caps.limits;
    const widestRow = 4 * Math.max(qkvWidth(this.d), upWidth(this.d), this.d.width);
    const probe = Math.min(minTokens, this.d.contextLength);
    const [once, twice] = [probe, 2 * probe].map((n) => this.rehearsal.training(n, this.mostRecomputed()).plans);
    const perToken = ((twice as number) - (once as number)) / probe;
    // What does not grow with the tokens, the loss head's chunks above all, takes its place in the same buffer.
    const fixed = (once as number) - perToken * probe;
    const arena = perToken === 0 ? Number.POSITIVE_INFINITY : (maxBufferBytes - fixed) / perToken;
    return {
      microBatchTokens: Math.floor(Math.min(maxBindingBytes / widestRow, Math.max(arena, probe))),
      kvTokens: Math.floor(maxBindingBytes / (this.kvBytes / (2 * this.d.layers))),
    };
  }

  private tooSmall(least: Choice): LeydenError {
    const { request } = this;
    const plan = this.parts(least);
    const parts = [
      `${this.trains ? "parameters, gradients and optimizer" : "parameters"} ${mib(plan.weightBytes + plan.optimizerBytes)}`,
    ];
    if (request.inference !== null) {
      parts.push(
        `${plan.kvTokens} cached tokens ${mib(plan.cacheBytes)}`,
        `prefill and decode steps ${mib(plan.inferenceBytes)}`,
      );
    }
    if (this.trains) {
      const recomputed = plan.recomputedLayers > 0 ? ", blocks recomputed," : "";
      parts.push(`a micro-batch of ${plan.microBatchTokens} tokens${recomputed} ${mib(plan.trainingBytes)}`);
    }
    return new LeydenError(
      "memory_budget",
      `A memory budget of ${mib(request.budgetBytes)} is too small: ${parts.join(", ")}.`,
      {
        do: `Give a budget of at least ${mib(plan.totalBytes)} (model.memoryBytes), ${this.ways().join(", ")}, or use a smaller model.`,
        data: { ...plan, minimumBytes: plan.totalBytes },
      },
    );
  }

  /** What else takes less memory here. */
  private ways(): string[] {
    const { training, adapters, weights, inference } = this.request;
    const ways = [];
    if (training !== null && adapters.length === 0) ways.push("train an adapter (train.loraRank)");
    if ((training === null || adapters.length > 0) && weights === "f32")
      ways.push("hold weights as f16 or int8 (model.weights)");
    if (training !== null) ways.push("lower train.microBatchTokens");
    if (inference !== null) ways.push("lower model.kvTokens");
    return ways;
  }
}

function mib(bytes: number): string {
  return `${(Math.ceil((10 * bytes) / mebibyte) / 10).toFixed(1)} MiB`;
}

function requireDeviceFit(
  least: Pick<Choice, "microBatchTokens" | "kvTokens">,
  caps: Pick<Choice, "microBatchTokens" | "kvTokens">,
): void {
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
