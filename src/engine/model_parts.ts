import type { Clock } from "../core/clock.ts";
import { LeydenError } from "../core/errors.ts";
import type { DecodeWork, PrefillPart } from "../infer/batch_former.ts";
import { type Drawn, InferenceRunner } from "../infer/runner.ts";
import type { DecodeText } from "../infer/stops.ts";
import { encodeSafetensors } from "../io/safetensors.ts";
import { weightsSha256 } from "../io/weights_hash.ts";
import { defaultBudgetBytes, memoryPlan } from "../model/memory_plan.ts";
import type { Model } from "../model/model.ts";
import { Scorer } from "../model/scorer.ts";
import { pageTokens } from "../ops/kv_pages.ts";
import type {
  AccumulateRequest,
  CriticResult,
  CriticUpdateRequest,
  EngineInfo,
  ScoreRequest,
  ScoreResult,
  ScoreRowsRequest,
  ScoreRowsResult,
  UpdateRequest,
} from "../schema/engine.ts";
import { Critic } from "../train/critic.ts";
import { ReferencePolicy } from "../train/reference_policy.ts";
import { RowScorer } from "../train/score_rows.ts";
import { recordLogprobs, type StepResult, Trainer } from "../train/trainer.ts";
import { criticFiles } from "./critic_files.ts";
import type { EngineOptions } from "./engine_options.ts";
import type { EngineParts, GradientOptions, Gradients, ModelState } from "./engine_parts.ts";

/** What a model on an open device becomes an engine's parts with. */
export interface ModelPartsDeps {
  readonly model: Model;
  /** The frozen policy that KL terms are measured against, on the same device; null when there are none. */
  readonly reference?: Model | null;
  /** A critic's model, on the same device; null when none learns. */
  readonly critic?: Model | null;
  readonly options: EngineOptions;
  readonly clock: Clock;
  readonly decodeText: DecodeText;
}

/** A critic's parameters with their gradients and two moments. */
const criticShare = 4;

/** The real parts: runner, trainer and scorer of one model on one device. */
export class ModelParts implements EngineParts {
  readonly info: Omit<EngineInfo, "version">;
  readonly pageCount: number;
  readonly decodeText: DecodeText;
  private readonly model: Model;
  private readonly clock: Clock;
  private readonly runner: InferenceRunner;
  private readonly trainer: Trainer | null;
  private readonly reference: ReferencePolicy | null;
  private readonly critic: Critic | null;
  private scorer: Scorer | null = null;
  private rowScorer: RowScorer | null = null;

  /** @throws LeydenError of the memory plan when the model does not fit; DeviceError "device_memory" */
  constructor({ model, reference, critic, options, clock, decodeText }: ModelPartsDeps) {
    const { device, description: d } = model;
    const budgetBytes = options.memoryBytes || defaultBudgetBytes(device.caps.deviceClass);
    const plan = memoryPlan(d, {
      budgetBytes: budgetBytes - (reference?.parameters.bytes ?? 0) - criticShare * (critic?.parameters.bytes ?? 0),
      limits: device.caps.limits,
      train: options.train,
      ...(options.microBatchTokens === 0 ? {} : { microBatchTokens: options.microBatchTokens }),
      ...(options.kvTokens === 0 ? {} : { kvTokens: options.kvTokens }),
    });
    this.model = model;
    this.clock = clock;
    this.decodeText = decodeText;
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
      parameters: plan.parameterBytes / 4,
      vocabSize: d.vocabSize,
      contextLength,
      microBatchTokens: options.train ? plan.microBatchTokens : 0,
    };
    this.runner = new InferenceRunner(model, {
      pageCount: this.pageCount,
      contextLength,
      maxSequences: options.maxSequences,
      prefillTokens: options.prefillTokens,
      burst: options.burst,
    });
    const { microBatchTokens } = plan;
    this.trainer = options.train ? new Trainer(model, { microBatchTokens, clock }) : null;
    this.reference = reference == null ? null : new ReferencePolicy(reference, microBatchTokens);
    this.critic = critic == null ? null : new Critic(critic, microBatchTokens);
  }

  /** Continues from the optimizer's saved moments. @throws FormatError when they do not fit */
  async restoreOptimizer(bytes: Uint8Array): Promise<void> {
    await this.trainer?.restoreOptimizer(bytes);
  }

  /** The same for the critic's. */
  async restoreCritic(bytes: Uint8Array): Promise<void> {
    await this.critic?.restoreOptimizer(bytes);
  }

  prefill(parts: readonly PrefillPart[]): Promise<Drawn[]> {
    return this.runner.prefill(parts);
  }

  decode(work: DecodeWork): Promise<Drawn[]> {
    return this.runner.decode(work);
  }

  score({ ids, temperature }: ScoreRequest): Promise<ScoreResult> {
    this.scorer ??= new Scorer(this.model, this.info.contextLength);
    return this.scorer.score(ids, temperature);
  }

  async scoreRows({ rows, temperature, ...asked }: ScoreRowsRequest): Promise<ScoreRowsResult> {
    const own = asked.policy ? await this.rows().score(rows, temperature) : null;
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

  clearGradients(): void {
    this.trainer?.clearGradients();
  }

  async accumulate(
    { rows, loss }: Pick<AccumulateRequest, "rows" | "loss">,
    { between, fault }: GradientOptions,
  ): Promise<Gradients> {
    const trainer = this.requireTrainer();
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

  step({ rows, loss, optimizer, accumulated, gradientScale }: UpdateRequest): Promise<StepResult> {
    return this.requireTrainer().step(rows, loss, optimizer, {
      ...(accumulated === undefined ? {} : { accumulated }),
      ...(gradientScale === undefined ? {} : { gradientScale }),
    });
  }

  async snapshot({ optimizer }: { optimizer: boolean }): Promise<ModelState> {
    const { model, trainer } = this;
    const config = new TextEncoder().encode(`${JSON.stringify(model.savedConfig(), null, 2)}\n`);
    const tensors = await model.hostTensorSources();
    const files: Record<string, Uint8Array> = {
      "config.json": config,
      "model.safetensors": await encodeSafetensors(tensors),
    };
    if (optimizer && trainer !== null) files["optimizer.safetensors"] = await trainer.optimizerFile();
    if (optimizer && this.critic !== null) Object.assign(files, await criticFiles(this.critic));
    return { files, weightsSha256: await weightsSha256(tensors), optimizerSteps: trainer?.steps ?? 0 };
  }

  /** @throws LeydenError "engine_read_only" */
  private requireTrainer(): Trainer {
    if (this.trainer !== null) return this.trainer;
    throw new LeydenError("engine_read_only", "This engine was opened for serving only and cannot train.", {
      do: "Open it with train: true.",
    });
  }

  private rows(): RowScorer {
    this.rowScorer ??= new RowScorer(this.model, this.info.microBatchTokens || this.info.contextLength);
    return this.rowScorer;
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

/** The row with one advantage that is no number: its gradient is NaN. */
function withNan(row: UpdateRequest["rows"][number]): UpdateRequest["rows"][number] {
  const advantage = Float32Array.from(row.advantage);
  advantage[0] = Number.NaN;
  return { ...row, advantage };
}
