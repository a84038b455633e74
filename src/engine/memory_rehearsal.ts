import type { Capabilities } from "../gpu/capabilities.ts";
import { countingDevice } from "../gpu/counting_device.ts";
import { InferenceRunner, type RunnerOptions } from "../infer/runner.ts";
import type { HfConfig } from "../io/hf_config.ts";
import { criticConfig } from "../model/critic.ts";
import { AdaptedModel } from "../model/lora/adapted_model.ts";
import { Adapter } from "../model/lora/adapter.ts";
import { kvBytesPerToken } from "../model/memory_budget.ts";
import { Model } from "../model/model.ts";
import { transferBytes } from "../model/packed_tensors.ts";
import type { WeightType } from "../model/parameter_layout.ts";
import type { Policy } from "../model/policy.ts";
import { ScorePlan } from "../model/score_plan.ts";
import { type PlanSizes, powerOfTwo } from "../model/sized_plan.ts";
import { ValueHead } from "../model/value_head.ts";
import { pageTokens } from "../ops/kv_pages.ts";
import type { LoraConfig } from "../schema/lora.ts";
import { Critic } from "../train/critic.ts";
import type { MomentType } from "../train/moments.ts";
import { Trainer } from "../train/trainer.ts";

/** What works on a device, whatever the numbers of tokens turn out to be. */
export interface Rehearsed {
  readonly caps: Capabilities;
  readonly config: HfConfig;
  /** How the model's matrices are held. */
  readonly weights: WeightType;
  readonly adapters: readonly { readonly name: string; readonly lora: LoraConfig }[];
  /** How a step is trained; null when nothing is. */
  readonly training: {
    /** Rows are scored by a reference policy first. */
    readonly reference: boolean;
    /** How the optimizer's moments are held; default f32. */
    readonly moments?: MomentType;
    /** A critic of its own learns beside the policy. */
    readonly critic?: boolean;
    /** Every policy has a value head, which scores rows in the policy's own pass. */
    readonly valueHead?: boolean;
  } | null;
  /** How sequences are drawn; null for a program that only trains. */
  readonly inference: Omit<RunnerOptions, "pageCount"> | null;
}

/** Bytes of training: gradients with both moments, and the plans of a step. */
export interface TrainingBytes {
  readonly optimizer: number;
  readonly plans: number;
}

/** Bytes of drawing: the plans with the sampler's state, and the keys and values. */
export interface InferenceBytes {
  readonly plans: number;
  readonly cache: number;
}

const stillClock = { now: () => 0, monotonic: () => 0, sleep: async (): Promise<void> => {} };

/**
 * Finds out what programs take by recording them on a device that only counts: the very code that allocates at run time
 * says how much, so the plan cannot drift from it.
 */
export class MemoryRehearsal {
  /** Parameters of the model, its adapters, value heads and the critic. */
  readonly weightBytes: number;
  /** Numbers in the model's parameters. */
  readonly parameters: number;
  private readonly what: Rehearsed;
  private readonly model: Model;
  private readonly policies: readonly Policy[];
  private readonly valueHeads: readonly ValueHead[];
  private readonly critic: Model | null;

  constructor(what: Rehearsed) {
    const device = countingDevice(what.caps);
    this.what = what;
    this.model = Model.blank(device, what.config, what.weights);
    const adapters = what.adapters.map(({ name, lora }) => Adapter.blank(this.model, name, lora));
    this.policies =
      adapters.length === 0 ? [this.model] : adapters.map((adapter) => new AdaptedModel(this.model, adapter));
    const { critic = false, valueHead = false } = what.training ?? {};
    this.valueHeads = valueHead ? this.policies.map(() => new ValueHead(device, this.description.width)) : [];
    this.critic = critic ? Model.blank(device, criticConfig(what.config), "f32") : null;
    this.weightBytes = device.pool.usage.bytes;
    this.parameters = this.model.parameters.layout.count;
  }

  get description(): Model["description"] {
    return this.model.description;
  }

  /** Bytes of steps whose largest micro-batch has `tokens` tokens. */
  training(tokens: number, recomputedLayers: number): TrainingBytes {
    if (this.what.training === null) return { optimizer: 0, plans: 0 };
    const { pool } = this.model.device;
    const before = pool.usage.bytes;
    const sizes = { tokens, records: powerOfTwo(tokens) };
    const { reference, moments = "f32" } = this.what.training;
    const options = { microBatchTokens: tokens, recomputedLayers, moments, clock: stillClock };
    const trainers = this.policies.map((policy, i) => {
      const valueHead = this.valueHeads[i];
      return new Trainer(policy, { ...options, ...(valueHead && { valueHead }) });
    });
    const critic = this.critic && new Critic(this.critic, tokens);
    const optimizer = pool.usage.bytes - before;
    const scored = reference ? new ScorePlan(this.model, tokens).measure(sizes) : 0;
    const plans = [...trainers, ...(critic === null ? [] : [critic])].reduce((n, each) => n + each.measure(sizes), 0);
    for (const each of [...trainers, critic]) each?.dispose();
    return { optimizer, plans: plans + scored + this.valuedBytes(sizes) + this.copiedBytes };
  }

  /** Bytes of the plans that score and value rows at once. */
  private valuedBytes(sizes: PlanSizes): number {
    return this.valueHeads.reduce((bytes, head, i) => {
      const scorer = new ScorePlan(this.policies[i] as Policy, sizes.tokens, head.tensors());
      return bytes + scorer.measure(sizes);
    }, 0);
  }

  /** After a step the weights are copied to the host, one transfer after the other. */
  private get copiedBytes(): number {
    return Math.max(...this.policies.map((policy) => Math.min(policy.trained.bytes, transferBytes)));
  }

  /** Bytes of drawing with a cache of `pageCount` pages. */
  inference(pageCount: number): InferenceBytes {
    if (this.what.inference === null) return { plans: 0, cache: 0 };
    const { pool } = this.model.device;
    const before = pool.usage.bytes;
    const options = { ...this.what.inference, pageCount };
    const [first, ...others] = this.policies as [Policy, ...Policy[]];
    const shared = new InferenceRunner(first, options);
    const runners = [shared, ...others.map((policy) => new InferenceRunner(policy, options, shared))];
    const cache = pageCount * pageTokens * kvBytesPerToken(this.description, options.kvFormat);
    const state = pool.usage.bytes - before - cache;
    const plans = runners.reduce((bytes, runner) => bytes + runner.measure(), state);
    return { plans, cache };
  }
}
