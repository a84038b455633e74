import type { Clock } from "../core/clock.ts";
import { CancelledError, FormatError } from "../core/errors.ts";
import type { RolloutHooks } from "../rollout/hooks.ts";
import type { Engine } from "../schema/engine.ts";
import type { ExperimentConfig } from "../schema/experiment.ts";
import type { Store } from "../schema/store.ts";
import type { Dataset } from "../schema/task.ts";
import type { RolloutConfig } from "../schema/wire.ts";
import { nextKlCoef } from "./adaptive_kl.ts";
import { reasonsToWait } from "./early_collection.ts";
import { evaluate, type TaskResult, validationMetrics } from "./evaluation.ts";
import { countFailures, type FailureCount, requireSomeCalled, requireSomeRan } from "./failures.ts";
import { GroupRunner } from "./group_runner.ts";
import { type Group, readGroup } from "./groups.ts";
import { type Objective, objectiveOf } from "./objective.ts";
import { takeUpdates } from "./policies.ts";
import type { MetricsLine, RunFolder, RunState, RunWriter } from "./run_folder.ts";
import type { RunGate } from "./run_gate.ts";
import { UpdateCollector } from "./update_collector.ts";
import { UpdateMeter } from "./update_meter.ts";

/** What people and programs are told while a run goes on. */
export interface LoopReporter {
  /** Rollouts of the groups being waited for. */
  rollouts(update: number, finished: number, total: number): void;
  /** Rollouts of an update that failed, by cause. */
  failures(update: number, failures: readonly FailureCount[], total: number): void;
  /** A finished update. */
  update(line: MetricsLine): void;
  validation(update: number, results: readonly TaskResult[]): void;
}

/** What the loop works with. */
export interface LoopDeps {
  readonly config: ExperimentConfig;
  readonly configSha256: string;
  readonly dataset: Dataset;
  readonly engine: Engine;
  readonly store: Store;
  readonly folder: RunWriter & Pick<RunFolder, "errorsOf">;
  readonly clock: Clock;
  readonly rolloutConfig: RolloutConfig;
  readonly hooks: RolloutHooks;
  /** Tokenizer and template files, put into every checkpoint so that it is a whole model folder. */
  readonly modelFiles: Readonly<Record<string, Uint8Array>>;
  readonly reporter: LoopReporter;
  readonly signal: AbortSignal;
  /** Where people hold the run between two updates; absent: never. */
  readonly gate?: RunGate;
}

/** Where the run stood when the loop ended. */
export interface LoopResult {
  readonly updates: number;
  readonly version: number;
  /** Mean reward of the last update; null when there was none. */
  readonly reward: number | null;
  /** Mean reward of the last validation; null when there was none. */
  readonly validation: number | null;
}

/**
 * The training loop: keep groups running, take the oldest complete ones, update, validate, checkpoint. `GroupSchedule`
 * says which groups run and which are trained; unfinished ones are carried over whole. In `interleaved` mode gradients
 * of finished groups are computed while others are at work. In `sync` mode, and wherever no group is older than its
 * update, groups, samples and their order depend on the seed alone.
 */
export class Loop {
  private readonly deps: LoopDeps;
  private readonly groups: GroupRunner;
  private state: RunState;
  /** Null where an update's gradients wait for all its groups. */
  private readonly collector: UpdateCollector | null;
  private reward: number | null;
  private validation: number | null;

  constructor(deps: LoopDeps, state: RunState) {
    this.deps = deps;
    this.state = state;
    this.reward = state.reward ?? null;
    this.validation = state.validation ?? null;
    this.groups = new GroupRunner({ ...deps, tasks: deps.dataset.train(deps.config.seed) }, state);
    this.collector = reasonsToWait(deps.config).length === 0 ? new UpdateCollector(deps) : null;
  }

  /**
   * Runs to the configured number of updates.
   * @throws CancelledError when the signal fires, after saving nothing; FormatError "checkpoint_damaged" when the
   *   engine's weights are not those of the state; LeydenError "rollouts_failed" when none of an update could be run
   */
  async run(): Promise<LoopResult> {
    const { config, signal, gate } = this.deps;
    await this.checkWeights();
    await this.groups.resume(this.state);
    while (this.state.update < config.train.updates) {
      await gate?.pass(signal);
      if (signal.aborted) throw new CancelledError("The run");
      await this.oneUpdate();
    }
    const { update, version } = this.state;
    return { updates: update, version, reward: this.reward, validation: this.validation };
  }

  /** A checkpoint whose bytes changed on disk can still be a readable model folder. */
  private async checkWeights(): Promise<void> {
    const { weightsSha256: saved, update } = this.state;
    if (saved === "") return;
    const { weightsSha256 } = await this.deps.engine.snapshot({ optimizer: false });
    if (weightsSha256 === saved) return;
    throw new FormatError(
      "checkpoint_damaged",
      `The weights of checkpoint step_${update} have SHA-256 ${weightsSha256}; ${saved} was saved.`,
      { do: "Remove that checkpoint's folder; the run then resumes from the one before it." },
    );
  }

  private async oneUpdate(): Promise<void> {
    const { store, config } = this.deps;
    const meter = await UpdateMeter.start(this.deps);
    const number = this.state.update + 1;
    const carried = this.groups.progress().total;
    const chosen = await this.nextGroups(number);
    meter.rolloutsEnded();
    await this.checkFailures(number, chosen);
    const groups = await Promise.all(chosen.map((g) => readGroup(store, g)));
    const trained = this.state.version;
    const ages = chosen.map((g) => this.groups.schedule.ageOf(g));
    const inFlight = await this.callsInFlight();
    const taken = await this.groups.whileStarting(
      this.collector === null
        ? takeUpdates(this.deps, `update-${number}`, groups, this.objective(), config.train.policies)
        : this.collector.take(`update-${number}`, groups, this.objective()),
    );
    this.groups.schedule.updated(chosen);
    const { learningRate } = config.train;
    const line = await meter.line({ number, groups, taken, trained, learningRate });
    Object.assign(line, this.groups.lifecycle(chosen));
    line["training/n_groups_replaced"] = this.groups.trained(groups).replaced;
    line["training/async/n_prev_carry_over_rollouts"] = carried;
    line["training/async/n_completed_rollouts"] = chosen.length * config.train.groupSize;
    line["training/async/n_new_carry_over_rollouts"] = this.groups.progress().total;
    line["training/async/new_carry_over_age_max_steps"] = this.groups.carriedAge();
    line["training/async/group_age_max_steps"] = Math.max(...ages);
    line["schedule/collects_early"] = this.collector === null ? 0 : 1;
    line["training/async/proxy_inflight_at_pause"] = inFlight;
    line["training/async/proxy_drain_seconds"] = taken.steps.reduce((ms, s) => ms + s.drainMs, 0) / 1000;
    const rollouts = groups.reduce((n, g) => n + g.rollouts.length, 0);
    const used = this.state.klCoef ?? config.train.klCoef;
    const klCoef = nextKlCoef(config.train, used, line, rollouts);
    if (config.train.klCoef !== 0) line["actor/kl_coef"] = used;
    this.reward = line["training/reward"] as number;
    const version = line.version as number;
    this.state = { ...this.state, update: number, version, ...(klCoef !== undefined && { klCoef }) };
    await this.maybeValidate(line);
    await this.commit(line, chosen);
  }

  /** Calls that agents wait for now. */
  private async callsInFlight(): Promise<number> {
    const { activeSequences, queuedSequences } = await this.deps.engine.stats();
    return activeSequences + queuedSequences;
  }

  /** What the next update optimises. */
  private objective(): Objective {
    const { seed, train } = this.deps.config;
    const { update, klCoef = train.klCoef } = this.state;
    return objectiveOf(train, { seed, update: update + 1, klCoef });
  }

  /** Starts groups and begins with gradients as the schedule lets it, until the next update has its groups. */
  private async nextGroups(number: number): Promise<Group[]> {
    const { schedule } = this.groups;
    for (;;) {
      await this.groups.lookAndStart();
      this.collect();
      const { finished, total } = this.groups.progress();
      this.deps.reporter.rollouts(number, finished, total);
      const batch = schedule.batch();
      if (batch !== null) return batch;
      await this.groups.changed();
    }
  }

  private collect(): void {
    if (this.collector === null) return;
    const { schedule } = this.groups;
    for (let group = schedule.collectable(); group !== null; group = schedule.collectable()) {
      const finished = group;
      schedule.collect(finished);
      this.collector.collect(finished.id, () => readGroup(this.deps.store, finished), this.objective());
    }
  }

  /** What failed is said, and is the end where nothing could be run. */
  private async checkFailures(update: number, chosen: readonly Group[]): Promise<void> {
    const failures = await countFailures(this.deps.store, chosen);
    // An engine that has lost its device for good says so itself: that is what the agents failed of.
    if (failures.length > 0) await this.deps.engine.info();
    const total = chosen.length * this.deps.config.train.groupSize;
    requireSomeRan(update, failures, total);
    await requireSomeCalled(this.deps, update, chosen, failures);
    if (failures.length > 0) this.deps.reporter.failures(update, failures, total);
  }

  /**
   * Makes the update last. Its record and its metrics line come before the checkpoint: a crash in between leaves them
   * for the resumed run to replace, while in the other order it would lose them.
   */
  private async commit(line: MetricsLine, chosen: readonly Group[]): Promise<void> {
    const { store, folder, clock, reporter } = this.deps;
    const data = { update: this.state.update, version: this.state.version, groups: chosen.map((g) => g.id) };
    await store.append([{ type: "experiment", name: "update", data, at: clock.now() / 1000 }]);
    await folder.appendMetrics(line);
    await this.maybeCheckpoint();
    reporter.update(line);
  }

  private async maybeCheckpoint(): Promise<void> {
    const { config, engine, store, folder, modelFiles, configSha256 } = this.deps;
    const last = this.state.update === config.train.updates;
    if (!last && this.state.update % config.store.checkpointEvery !== 0) return;
    const snapshot = await engine.snapshot({ optimizer: true });
    this.state = {
      ...this.state,
      optimizerSteps: snapshot.optimizerSteps,
      weightsSha256: snapshot.weightsSha256,
      ...this.groups.state(),
      storeSeq: await store.seq(),
      configSha256,
      reward: this.reward,
      validation: this.validation,
    };
    await folder.writeCheckpoint(this.state, { ...modelFiles, ...snapshot.files });
    await folder.pruneCheckpoints(config.store.keep);
  }

  private async maybeValidate(line: MetricsLine): Promise<void> {
    const { config, dataset, reporter, store, clock, rolloutConfig, hooks, signal } = this.deps;
    const { every, tasks, samples } = config.eval;
    const due = every > 0 && (this.state.update % every === 0 || this.state.update === config.train.updates);
    if (!due) return;
    const held = tasks === 0 ? dataset.heldOut : dataset.heldOut.slice(0, tasks);
    const label = `val-u${this.state.update}`;
    const results = await evaluate({ store, clock, rolloutConfig, hooks, signal }, label, held, samples);
    Object.assign(line, validationMetrics(results));
    this.validation = line["val/reward"] as number;
    reporter.validation(this.state.update, results);
  }
}
