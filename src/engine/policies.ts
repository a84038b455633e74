import { LeydenError } from "../core/errors.ts";
import { InferenceRunner, type RunnerOptions } from "../infer/runner.ts";
import { AdaptedModel } from "../model/lora/adapted_model.ts";
import type { Adapter } from "../model/lora/adapter.ts";
import type { Model } from "../model/model.ts";
import type { Policy } from "../model/policy.ts";
import { Scorer } from "../model/scorer.ts";
import type { ValueHead } from "../model/value_head.ts";
import { baseAdapter } from "../schema/lora.ts";
import { RowScorer } from "../train/score_rows.ts";
import { Trainer, type TrainerOptions } from "../train/trainer.ts";
import { checkAdapter } from "./admission.ts";

/** What the policies of an engine are made with. */
export interface PoliciesDeps {
  readonly model: Model;
  readonly adapters: readonly Adapter[];
  readonly inference: RunnerOptions;
  /** A value head for each adapter, or for the model where there is none; empty when none learns. */
  readonly valueHeads: readonly ValueHead[];
  /** Null when nothing is trained. */
  readonly training: TrainerOptions | null;
  /** Longest row that is scored. */
  readonly scoredTokens: number;
}

/** One policy at work: what draws, trains and scores with it. Plans are recorded when they are first needed. */
class ServedPolicy {
  readonly policy: Policy;
  readonly runner: InferenceRunner;
  readonly trainer: Trainer | null;
  private readonly deps: PoliciesDeps;
  private ownScorer: Scorer | undefined;
  private ownRowScorer: RowScorer | undefined;

  /** `head`: what values the policy's states, if anything; `trains`: false for the model beside its adapters. */
  constructor(
    policy: Policy,
    deps: PoliciesDeps,
    { trains, head, shared }: { trains: boolean; head: ValueHead | undefined; shared?: InferenceRunner },
  ) {
    this.policy = policy;
    this.deps = deps;
    this.runner = new InferenceRunner(policy, deps.inference, shared);
    const own = head === undefined ? {} : { valueHead: head };
    this.trainer = trains && deps.training !== null ? new Trainer(policy, { ...deps.training, ...own }) : null;
  }

  get scorer(): Scorer {
    this.ownScorer ??= new Scorer(this.policy, this.deps.inference.contextLength);
    return this.ownScorer;
  }

  get rowScorer(): RowScorer {
    this.ownRowScorer ??= new RowScorer(this.policy, this.deps.scoredTokens, this.trainer?.valueHead?.tensors);
    return this.ownRowScorer;
  }
}

/**
 * The policies of an engine by name: the model itself, or adapters beside its frozen weights, all over one key-value
 * cache. Without adapters the model is the policy that is trained; with some it is still there as "base".
 */
export class Policies {
  /** Names of the adapters, the default first. */
  readonly names: readonly string[];
  private readonly served = new Map<string, ServedPolicy>();

  /** @throws LeydenError "frozen_weights"; DeviceError "device_memory" */
  constructor(deps: PoliciesDeps) {
    const { model, adapters, valueHeads } = deps;
    this.names = adapters.map((a) => a.name);
    const alone = adapters.length === 0;
    const base = new ServedPolicy(model, deps, { trains: alone, head: alone ? valueHeads[0] : undefined });
    this.served.set(baseAdapter, base);
    for (const [i, adapter] of adapters.entries()) {
      const how = { trains: true, head: valueHeads[i], shared: base.runner };
      this.served.set(adapter.name, new ServedPolicy(new AdaptedModel(model, adapter), deps, how));
    }
  }

  /** The policy of a name, the default without one. @throws LeydenError "adapter_unknown" */
  at(name: string | undefined): ServedPolicy {
    checkAdapter(name, this.names);
    return this.served.get(name ?? this.names[0] ?? baseAdapter) as ServedPolicy;
  }

  /** What trains a policy. @throws LeydenError "adapter_unknown" | "engine_read_only" | "adapter_frozen" */
  trainer(name: string | undefined): Trainer {
    const { trainer } = this.at(name);
    if (trainer !== null) return trainer;
    if (name === baseAdapter && this.trainers.length > 0) {
      throw new LeydenError("adapter_frozen", "The model itself is frozen beside its adapters.", {
        do: `Train one of ${this.names.join(", ")}.`,
      });
    }
    throw new LeydenError("engine_read_only", "This engine was opened for serving only and cannot train.", {
      do: "Open it with train: true.",
    });
  }

  /** Every trainer with its adapter's name; the model's own has none. */
  get trainers(): { readonly name: string | undefined; readonly trainer: Trainer }[] {
    const named: { name: string | undefined; trainer: Trainer | null }[] = [...this.served].map(([name, w]) => ({
      name: name === baseAdapter ? undefined : name,
      trainer: w.trainer,
    }));
    return named.flatMap(({ name, trainer }) => (trainer === null ? [] : [{ name, trainer }]));
  }

  /** Hands items to the policy each belongs to, policy by policy; results are in the order of the items. */
  async byPolicy<Item, Result>(
    items: readonly Item[],
    nameOf: (item: Item) => string | undefined,
    run: (runner: InferenceRunner, items: readonly Item[]) => Promise<readonly Result[]>,
  ): Promise<Result[]> {
    const groups = new Map<InferenceRunner, number[]>();
    for (const [i, item] of items.entries()) {
      const { runner } = this.at(nameOf(item));
      groups.set(runner, [...(groups.get(runner) ?? []), i]);
    }
    const results = new Array<Result>(items.length);
    for (const [runner, indices] of groups) {
      const part = await run(
        runner,
        indices.map((i) => items[i] as Item),
      );
      for (const [k, i] of indices.entries()) results[i] = part[k] as Result;
    }
    return results;
  }
}
