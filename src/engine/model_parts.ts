import type { Clock } from "../core/clock.ts";
import { LeydenError } from "../core/errors.ts";
import type { DecodeWork, PrefillPart } from "../infer/batch_former.ts";
import type { Drawn } from "../infer/runner.ts";
import type { DecodeText } from "../infer/stops.ts";
import { encodeSafetensors } from "../io/safetensors.ts";
import { weightsSha256 } from "../io/weights_hash.ts";
import type { Adapter } from "../model/lora/adapter.ts";
import { defaultBudgetBytes } from "../model/memory_budget.ts";
import type { Model } from "../model/model.ts";
import type { Decoder } from "../model/policy.ts";
import { pageTokens } from "../ops/kv_pages.ts";
import type { AccumulateRequest, EngineInfo, ScoreRequest, ScoreResult, UpdateRequest } from "../schema/engine.ts";
import type { CriticResult, CriticUpdateRequest, ScoreRowsRequest, ScoreRowsResult } from "../schema/row_scores.ts";
import type { ConstraintCompiler } from "../schema/token_constraint.ts";
import { Critic } from "../train/critic.ts";
import { ReferencePolicy } from "../train/reference_policy.ts";
import { recordLogprobs, type StepResult } from "../train/trainer.ts";
import { adapterCheckpoint } from "./adapter_files.ts";
import { criticFiles } from "./critic_files.ts";
import type { EngineOptions } from "./engine_options.ts";
import type { EngineParts, GradientOptions, Gradients, ModelState } from "./engine_parts.ts";
import { type MemoryPlan, type MemoryRequest, planMemory } from "./memory_plan.ts";
import { Policies } from "./policies.ts";

/** What a model on an open device becomes an engine's parts with. */
export interface ModelPartsDeps {
  readonly model: Model;
  /** Adapters beside it, the default first. */
  readonly adapters?: readonly Adapter[];
  /** Where an adapter's folder says its model is. */
  readonly basePath?: string;
  /** The frozen policy that KL terms are measured against, on the same device; null when there are none. */
  readonly reference?: Decoder | null;
  /** A critic's model, on the same device; null when none learns. */
  readonly critic?: Model | null;
  readonly options: EngineOptions;
  readonly clock: Clock;
  readonly decodeText: DecodeText;
  /** Makes what replies must match; absent where there is no tokenizer. */
  readonly constraints?: ConstraintCompiler | undefined;
}

/** A critic's parameters with their gradients and two moments. */
const criticShare = 4;

/** The real parts: runner, trainer and scorer of one model on one device. */
export class ModelParts implements EngineParts {
  info: Omit<EngineInfo, "version">;
  /** How the device's memory was divided. */
  readonly memory: MemoryPlan;
  readonly pageCount: number;
  readonly decodeText: DecodeText;
  readonly constraints: ConstraintCompiler | undefined;
  private readonly model: Model;
  private readonly clock: Clock;
  private readonly policies: Policies;
  private readonly adapters: readonly Adapter[];
  private readonly basePath: string;
  private readonly reference: ReferencePolicy | null;
  private readonly critic: Critic | null;

  /** @throws LeydenError of the memory plan when the model does not fit; DeviceError "device_memory" */
  constructor(deps: ModelPartsDeps) {
    const { model, reference, critic, options, clock, decodeText, adapters = [], basePath = "" } = deps;
    const { device, description: d } = model;
    const plan = planMemory(memoryRequest(deps));
    this.memory = plan;
    this.model = model;
    this.adapters = adapters;
    this.basePath = basePath;
    this.clock = clock;
    this.decodeText = decodeText;
    this.constraints = deps.constraints;
    this.pageCount = Math.max(1, Math.floor(plan.kvTokens / pageTokens));
    // A prompt that the cache cannot hold could never start.
    const contextLength = Math.min(
      options.contextLength || d.contextLength,
      d.contextLength,
      this.pageCount * pageTokens,
    );
    this.info = {
      adapter: device.caps.adapter,
      deviceClass: device.caps.deviceClass,
      family: d.family,
      parameters: plan.parameters,
      vocabSize: d.vocabSize,
      contextLength,
      microBatchTokens: options.train ? plan.microBatchTokens : 0,
      ...(adapters.length === 0 ? {} : { adapters: adapters.map((a) => a.name) }),
    };
    const { microBatchTokens, recomputedLayers } = plan;
    const { maxSequences, prefillTokens, burst, kvFormat } = options;
    this.policies = new Policies({
      model,
      adapters,
      inference: { pageCount: this.pageCount, kvFormat, contextLength, maxSequences, prefillTokens, burst },
      training: options.train ? { microBatchTokens, recomputedLayers, moments: options.optimizerStates, clock } : null,
      scoredTokens: this.info.microBatchTokens || contextLength,
    });
    this.reference = reference == null ? null : new ReferencePolicy(reference, microBatchTokens);
    this.critic = critic == null ? null : new Critic(critic, microBatchTokens);
  }

  /** Continues from the saved moments of an adapter, or of the model's own. @throws FormatError when they do not fit */
  async restoreOptimizer(bytes: Uint8Array, adapter?: string): Promise<void> {
    if (this.policies.trainers.length > 0) await this.policies.trainer(adapter).restoreOptimizer(bytes);
  }

  /** The same for the critic's. */
  async restoreCritic(bytes: Uint8Array): Promise<void> {
    await this.critic?.restoreOptimizer(bytes);
  }

  prefill(parts: readonly PrefillPart[]): Promise<Drawn[]> {
    return this.policies.byPolicy(
      parts,
      (part) => part.sequence.request.adapter,
      (runner, own) => runner.prefill(own),
    );
  }

  decode(work: DecodeWork): Promise<Drawn[]> {
    return this.policies.byPolicy(
      work.sequences,
      (sequence) => sequence.request.adapter,
      (runner, sequences) => runner.decode({ ...work, sequences }),
    );
  }

  /** Dispatches of one decode step of `count` sequences of the default policy. */
  decodeDispatches(count: number): Promise<number> {
    return this.policies.at(undefined).runner.decodeDispatches(count);
  }

  async score({ ids, temperature, adapter }: ScoreRequest): Promise<ScoreResult> {
    return this.policies.at(adapter).scorer.score(ids, temperature);
  }

  async scoreRows({ rows, temperature, adapter, ...asked }: ScoreRowsRequest): Promise<ScoreRowsResult> {
    const own = asked.policy ? await this.policies.at(adapter).rowScorer.score(rows, temperature) : null;
    return {
      logprobs: own?.logprobs ?? null,
      entropies: own?.entropies ?? null,
      refLogprobs: asked.reference ? await this.requireReference().logprobs(rows, temperature) : null,
      values: asked.values ? await this.requireCritic().values(rows) : null,
    };
  }

  updateCritic({ rows, ...how }: CriticUpdateRequest): Promise<CriticResult> {
    return this.requireCritic().step(rows, how);
  }

  clearGradients(adapter: string | undefined | null): void {
    if (adapter === null) for (const { trainer } of this.policies.trainers) trainer.clearGradients();
    else this.policies.trainer(adapter).clearGradients();
  }

  async accumulate(
    { rows, loss, adapter }: Pick<AccumulateRequest, "rows" | "loss" | "adapter">,
    { between, fault }: GradientOptions,
  ): Promise<Gradients> {
    const trainer = this.policies.trainer(adapter);
    const start = this.clock.monotonic();
    let othersMs = 0;
    const pause = async (): Promise<void> => {
      const stopped = this.clock.monotonic();
      await between?.();
      othersMs += this.clock.monotonic() - stopped;
    };
    const faulty = fault === "nan-grad" ? rows.map(withNan) : rows;
    const wanted = loss.klCoef === 0 ? null : this.reference;
    const filled = wanted === null ? faulty : await wanted.fill(faulty, loss);
    const { statistics, stats } = await trainer.addGradients(filled, loss, between && { between: pause });
    return { ...statistics, logprobs: recordLogprobs(stats), trainMs: this.clock.monotonic() - start - othersMs };
  }

  async step({ rows, loss, optimizer, accumulated, gradientScale, adapter }: UpdateRequest): Promise<StepResult> {
    return this.policies.trainer(adapter).step(rows, loss, optimizer, {
      ...(accumulated === undefined ? {} : { accumulated }),
      ...(gradientScale === undefined ? {} : { gradientScale }),
    });
  }

  async snapshot({ optimizer }: { optimizer: boolean }): Promise<ModelState> {
    const { trainers } = this.policies;
    const state = this.adapters.length > 0 ? await this.adapterState(optimizer) : await this.modelState(optimizer);
    const files = { ...state.files };
    if (optimizer && this.critic !== null) Object.assign(files, await criticFiles(this.critic));
    return { ...state, files, optimizerSteps: trainers.reduce((n, { trainer }) => n + trainer.steps, 0) };
  }

  private async modelState(optimizer: boolean): Promise<Pick<ModelState, "files" | "weightsSha256">> {
    const { model } = this;
    const config = new TextEncoder().encode(`${JSON.stringify(model.savedConfig(), null, 2)}\n`);
    const tensors = await model.hostTensorSources();
    const files: Record<string, Uint8Array> = {
      "config.json": config,
      "model.safetensors": await encodeSafetensors(tensors),
    };
    const own = optimizer ? this.policies.trainers[0]?.trainer : undefined;
    if (own !== undefined) files["optimizer.safetensors"] = await own.optimizerFile();
    return { files, weightsSha256: await weightsSha256(tensors) };
  }

  /** The adapters alone: the model beside them does not change. */
  private async adapterState(optimizer: boolean): Promise<Pick<ModelState, "files" | "weightsSha256">> {
    const saved = [];
    for (const adapter of this.adapters) {
      const own = optimizer ? this.policies.trainers.find(({ name }) => name === adapter.name) : undefined;
      saved.push({ adapter, optimizer: own === undefined ? null : await own.trainer.optimizerFile() });
    }
    const transposed = this.model.description.weightLayout === "in_out";
    return adapterCheckpoint(saved, { base: this.basePath, transposed });
  }

  /** @throws LeydenError "no_reference" */
  private requireReference(): ReferencePolicy {
    if (this.reference !== null) return this.reference;
    throw new LeydenError("no_reference", "This engine was opened without a reference policy.", {
      do: "Open it with referenceFolder.",
    });
  }

  /** @throws LeydenError "no_critic" */
  private requireCritic(): Critic {
    if (this.critic !== null) return this.critic;
    throw new LeydenError("no_critic", "This engine was opened without a critic.", {
      do: "Open it with criticFolder.",
    });
  }

  loseDevice(): void {
    this.model.device.gpu.destroy();
  }

  dispose(): void {
    this.model.device.close();
  }
}

/** What the memory plan is to make room for: all that is on the device already beside the model and its adapters. */
function memoryRequest({ model, adapters = [], reference, critic, options }: ModelPartsDeps): MemoryRequest {
  const { caps, pool } = model.device;
  const own = adapters.reduce((bytes, a) => bytes + a.parameters.bytes, model.parameters.bytes);
  const { contextLength, maxSequences, prefillTokens, burst, kvFormat, recomputedLayers } = options;
  const longest = Math.min(contextLength || model.description.contextLength, model.description.contextLength);
  return {
    budgetBytes: options.memoryBytes || defaultBudgetBytes(caps.deviceClass),
    otherBytes: pool.usage.bytes - own + (criticShare - 1) * (critic?.parameters.bytes ?? 0),
    caps,
    config: model.config,
    weights: model.type,
    adapters: adapters.map((a) => ({ name: a.name, lora: a.config })),
    training: options.train ? { reference: reference != null, moments: options.optimizerStates } : null,
    inference: { contextLength: longest, maxSequences, prefillTokens, burst, kvFormat },
    ...(options.microBatchTokens === 0 ? {} : { microBatchTokens: options.microBatchTokens }),
    ...(options.kvTokens === 0 ? {} : { kvTokens: options.kvTokens }),
    ...(recomputedLayers === "auto" ? {} : { recomputedLayers }),
  };
}

/** The row with one advantage that is no number: its gradient is NaN. */
function withNan(row: UpdateRequest["rows"][number]): UpdateRequest["rows"][number] {
  const advantage = Float32Array.from(row.advantage);
  advantage[0] = Number.NaN;
  return { ...row, advantage };
}
