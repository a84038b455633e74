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
import type { EngineInfo, ScoreRequest, ScoreResult, UpdateRequest, UpdateResult } from "../schema/engine.ts";
import { ReferencePolicy } from "../train/reference_policy.ts";
import { Trainer } from "../train/trainer.ts";
import type { EngineOptions } from "./engine_options.ts";
import type { EngineParts, ModelState } from "./engine_parts.ts";

/** What a model on an open device becomes an engine's parts with. */
export interface ModelPartsDeps {
  readonly model: Model;
  /** The frozen policy that KL terms are measured against, on the same device; null when there are none. */
  readonly reference?: Model | null;
  readonly options: EngineOptions;
  readonly clock: Clock;
  readonly decodeText: DecodeText;
}

/** The real parts: runner, trainer and scorer of one model on one device. */
export class ModelParts implements EngineParts {
  readonly info: Omit<EngineInfo, "version">;
  readonly pageCount: number;
  readonly decodeText: DecodeText;
  private readonly model: Model;
  private readonly runner: InferenceRunner;
  private readonly trainer: Trainer | null;
  private readonly reference: ReferencePolicy | null;
  private scorer: Scorer | null = null;

  /** @throws LeydenError of the memory plan when the model does not fit; DeviceError "device_memory" */
  constructor({ model, reference, options, clock, decodeText }: ModelPartsDeps) {
    const { device, description: d } = model;
    const budgetBytes = options.memoryBytes || defaultBudgetBytes(device.caps.deviceClass);
    const plan = memoryPlan(d, {
      budgetBytes: budgetBytes - (reference?.parameters.bytes ?? 0),
      limits: device.caps.limits,
      train: options.train,
      ...(options.microBatchTokens === 0 ? {} : { microBatchTokens: options.microBatchTokens }),
      ...(options.kvTokens === 0 ? {} : { kvTokens: options.kvTokens }),
    });
    this.model = model;
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
  }

  /** Continues from the optimizer's saved moments. @throws FormatError when they do not fit */
  async restoreOptimizer(bytes: Uint8Array): Promise<void> {
    await this.trainer?.restoreOptimizer(bytes);
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

  async update(request: UpdateRequest, fault: "nan-grad" | null): Promise<Omit<UpdateResult, "version">> {
    if (this.trainer === null) {
      throw new LeydenError("engine_read_only", "This engine was opened for serving only and cannot train.", {
        do: "Open it with train: true.",
      });
    }
    const faulty = fault === "nan-grad" ? request.rows.map(withNan) : request.rows;
    const wanted = request.loss.klCoef === 0 ? null : this.reference;
    const rows = wanted === null ? faulty : await wanted.fill(faulty, request.loss);
    return this.trainer.step(rows, request.loss, request.optimizer);
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
    return { files, weightsSha256: await weightsSha256(tensors), optimizerSteps: trainer?.steps ?? 0 };
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
