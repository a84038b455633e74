import type { Clock } from "../core/clock.ts";
import { LeydenError } from "../core/errors.ts";
import type { DecodeWork, PrefillPart } from "../infer/batch_former.ts";
import type { Drawn } from "../infer/runner.ts";
import type { DecodeText } from "../infer/stops.ts";
import { encodeSafetensors } from "../io/safetensors.ts";
import { weightsSha256 } from "../io/weights_hash.ts";
import type { Adapter } from "../model/lora/adapter.ts";
import type { Model } from "../model/model.ts";
import type { ValueHead } from "../model/value_head.ts";
import { pageTokens } from "../ops/kv_pages.ts";
import type { AccumulateRequest, EngineInfo, ScoreRequest, ScoreResult, UpdateRequest } from "../schema/engine.ts";
import type { CriticResult, CriticUpdateRequest, ScoreRowsRequest, ScoreRowsResult } from "../schema/row_scores.ts";
import type { ConstraintCompiler } from "../schema/token_constraint.ts";
import { Critic } from "../train/critic.ts";
import type { PolicyValueHead } from "../train/policy_value_head.ts";
import { ReferencePolicy } from "../train/reference_policy.ts";
import { recordLogprobs, type StepResult } from "../train/trainer.ts";
import { adapterCheckpoint, prefixOf } from "./adapter_files.ts";
import { criticFiles } from "./critic_files.ts";
import type { EngineParts, GradientOptions, Gradients, ModelState } from "./engine_parts.ts";
import { type MemoryPlan, planMemory } from "./memory_plan.ts";
import { type ModelPartsDeps, memoryRequest } from "./model_parts_deps.ts";
import { Policies } from "./policies.ts";
import { savedValueHead } from "./value_head_files.ts";

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
  private readonly valueHeads: readonly ValueHead[];

  /** @throws LeydenError of the memory plan when the model does not fit; DeviceError "device_memory" */
  constructor(deps: ModelPartsDeps) {
    const {
      model,
      reference,
      critic,
      options,
      clock,
      decodeText,
      adapters = [],
      basePath = "",
      valueHeads = [],
    } = deps;
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
    this.valueHeads = valueHeads;
    this.policies = new Policies({
      ...{ model, adapters, valueHeads },
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

  /** The same for the value heads', in the order of their policies. */
  async restoreValueHeads(moments: readonly (Uint8Array | undefined)[]): Promise<void> {
    for (const [i, { trainer }] of this.policies.trainers.entries()) {
      const bytes = moments[i];
      if (bytes !== undefined) await trainer.valueHead?.restoreOptimizer(bytes);
    }
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
    const { rowScorer } = this.policies.at(adapter);
    const { values } = asked;
    const own = await this.timed(asked.policy, () => rowScorer.score(rows, temperature, { values }));
    const reference = await this.timed(asked.reference, () => this.requireReference().logprobs(rows, temperature));
    const byHead = own.result?.values ?? null;
    const judged = await this.timed(values && byHead === null, () => this.requireCritic(adapter).values(rows));
    return {
      logprobs: own.result?.logprobs ?? null,
      entropies: own.result?.entropies ?? null,
      refLogprobs: reference.result,
      values: byHead ?? judged.result,
      ms: { policy: own.ms, reference: reference.ms, values: judged.ms },
    };
  }

  async updateCritic({ rows, adapter, ...how }: CriticUpdateRequest): Promise<CriticResult> {
    const start = this.clock.monotonic();
    const step = await this.requireCritic(adapter).step(rows, how);
    return { ...step, trainMs: this.clock.monotonic() - start };
  }

  /** What is asked for, and how long it took; null where it is not. */
  private async timed<T>(isAsked: boolean, run: () => Promise<T>): Promise<{ result: T | null; ms: number | null }> {
    if (!isAsked) return { result: null, ms: null };
    const start = this.clock.monotonic();
    const result = await run();
    return { result, ms: this.clock.monotonic() - start };
  }

  clearGradients(adapter: string | undefined | null): void {
    if (adapter === null) for (const { trainer } of this.policies.trainers) trainer.clearGradients();
    else this.policies.trainer(adapter).clearGradients();
  }

  async accumulate(
    { rows, loss, value, adapter }: Pick<AccumulateRequest, "rows" | "loss" | "value" | "adapter">,
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
    const reference = await this.timed(wanted !== null, async () => wanted?.fill(faulty, loss));
    const filled = reference.result ?? faulty;
    const { statistics, stats } = await trainer.addGradients(filled, loss, { between: between && pause, value });
    const trainMs = this.clock.monotonic() - start - othersMs;
    const ofReference = reference.ms === null ? {} : { referenceMs: reference.ms };
    return { ...statistics, logprobs: recordLogprobs(stats), trainMs, ...ofReference };
  }

  async step(request: UpdateRequest): Promise<StepResult> {
    const { rows, loss, value, optimizer, accumulated, gradientScale, adapter } = request;
    return this.policies.trainer(adapter).step(rows, loss, optimizer, {
      value,
      ...(accumulated === undefined ? {} : { accumulated }),
      ...(gradientScale === undefined ? {} : { gradientScale }),
    });
  }

  async snapshot({ optimizer }: { optimizer: boolean }): Promise<ModelState> {
    const { trainers } = this.policies;
    const state = this.adapters.length > 0 ? await this.adapterState(optimizer) : await this.modelState(optimizer);
    const files = { ...state.files };
    if (optimizer && this.critic !== null) Object.assign(files, await criticFiles(this.critic));
    if (optimizer) Object.assign(files, await this.savedHeads());
    return { ...state, files, optimizerSteps: trainers.reduce((n, { trainer }) => n + trainer.steps, 0) };
  }

  private async savedHeads(): Promise<Record<string, Uint8Array>> {
    const files: Record<string, Uint8Array> = {};
    for (const [i, { name, trainer }] of this.policies.trainers.entries()) {
      const head = this.valueHeads[i];
      if (head === undefined || trainer.valueHead === null) continue;
      const prefix = name === undefined ? "" : prefixOf(name, this.adapters.length);
      Object.assign(files, await savedValueHead(head, trainer.valueHead, prefix));
    }
    return files;
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

  /** The critic, or the head on the policy's own hidden states. @throws LeydenError "no_critic" */
  private requireCritic(adapter: string | undefined): Critic | PolicyValueHead {
    const critic = this.critic ?? this.policies.at(adapter).trainer?.valueHead;
    if (critic) return critic;
    throw new LeydenError("no_critic", "This engine was opened without a critic.", {
      do: "Open it with criticFolder, or with valueHead.",
    });
  }

  loseDevice(): void {
    this.model.device.gpu.destroy();
  }

  dispose(): void {
    this.model.device.close();
  }
}

/** The row with one advantage that is no number: its gradient is NaN. */
function withNan(row: UpdateRequest["rows"][number]): UpdateRequest["rows"][number] {
  const advantage = Float32Array.from(row.advantage);
  advantage[0] = Number.NaN;
  return { ...row, advantage };
}
