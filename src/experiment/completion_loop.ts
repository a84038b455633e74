import type { Clock } from "../core/clock.ts";
import { CancelledError, FormatError } from "../core/errors.ts";
import { seedKey } from "../core/rng.ts";
import type { GroupRecord } from "../rl/batch/batch_input.ts";
import type { Engine } from "../schema/engine.ts";
import type { ExperimentConfig } from "../schema/experiment.ts";
import type { Dataset, TaskRow } from "../schema/task.ts";
import { nextKlCoef } from "./adaptive_kl.ts";
import { type CompletionDeps, completionGroup } from "./completion_groups.ts";
import { evaluated, validationMetrics } from "./evaluation.ts";
import type { LoopReporter, LoopResult } from "./loop.ts";
import { objectiveOf } from "./objective.ts";
import { isReplaced, replacedPerTask, rewardsOf } from "./refill.ts";
import type { MetricsLine, RunState, RunWriter } from "./run_folder.ts";
import type { RunGate } from "./run_gate.ts";
import { takeUpdate } from "./take_update.ts";
import { TaskSampler } from "./task_sampler.ts";
import { UpdateMeter } from "./update_meter.ts";

/** What the loop over completions works with. */
export interface CompletionLoopDeps {
  readonly config: ExperimentConfig;
  readonly configSha256: string;
  readonly dataset: Dataset;
  readonly engine: Engine;
  readonly folder: RunWriter;
  readonly clock: Clock;
  readonly completions: Omit<CompletionDeps, "temperature" | "key" | "engine">;
  /** Tokenizer and template files, put into every checkpoint so that it is a whole model folder. */
  readonly modelFiles: Readonly<Record<string, Uint8Array>>;
  readonly reporter: LoopReporter;
  readonly signal: AbortSignal;
  /** Where people hold the run between two updates; absent: never. */
  readonly gate?: RunGate;
}

/**
 * The training loop of tasks that one reply answers: draw, judge, update, validate, checkpoint, in this thread and
 * without a store, since nothing happens in between that a crash could lose. Draws depend on the seed and the rollout's
 * name alone, so a resumed run goes on as if it had never stopped.
 */
export class CompletionLoop {
  private readonly deps: CompletionLoopDeps;
  private readonly tasks: TaskSampler;
  private state: RunState;
  private reward: number | null;
  private validation: number | null;

  constructor(deps: CompletionLoopDeps, state: RunState) {
    this.deps = deps;
    this.state = state;
    const { seed, train } = deps.config;
    this.tasks = new TaskSampler(deps.dataset.train(seed), train.taskSampling, seed, state.tasks);
    this.reward = state.reward ?? null;
    this.validation = state.validation ?? null;
  }

  /**
   * Runs to the configured number of updates.
   * @throws CancelledError when the signal fires; FormatError "checkpoint_damaged" when the engine's weights are not
   *   those of the state
   */
  async run(): Promise<LoopResult> {
    const { config, signal, engine, gate } = this.deps;
    const { weightsSha256: saved, update: at } = this.state;
    if (saved !== "" && (await engine.snapshot({ optimizer: false })).weightsSha256 !== saved) {
      throw new FormatError(
        "checkpoint_damaged",
        `The weights of checkpoint step_${at} are not those that were saved.`,
        {
          do: "Remove that checkpoint's folder; the run then resumes from the one before it.",
        },
      );
    }
    while (this.state.update < config.train.updates) {
      await gate?.pass(signal);
      if (signal.aborted) throw new CancelledError("The run");
      await this.oneUpdate();
    }
    const { update, version } = this.state;
    return { updates: update, version, reward: this.reward, validation: this.validation };
  }

  private async oneUpdate(): Promise<void> {
    const { config, folder, reporter } = this.deps;
    const { seed, train } = config;
    const meter = await UpdateMeter.start(this.deps);
    const number = this.state.update + 1;
    const trained = this.state.version;
    const { groups, cursor, replaced } = await this.nextGroups(number);
    meter.rolloutsEnded();
    const klCoef = this.state.klCoef ?? train.klCoef;
    const objective = objectiveOf(train, { seed, update: number, klCoef });
    const taken = await takeUpdate(this.deps, `update-${number}`, groups, objective);
    const { learningRate } = train;
    const line = await meter.line({ number, groups, taken, trained, learningRate });
    line["training/n_groups_replaced"] = replaced;
    if (klCoef !== 0) line["actor/kl_coef"] = klCoef;
    this.reward = line["training/reward"] as number;
    for (const { task, rollouts } of groups) this.tasks.note(task, rewardsOf(rollouts, train.missingReward));
    const tasks = this.tasks.state([]);
    const next = nextKlCoef(train, klCoef, line, groups.length * train.groupSize);
    this.state = {
      ...{ ...this.state, update: number, version: line.version as number, cursor },
      ...(tasks === undefined ? {} : { tasks }),
      ...(next === undefined ? {} : { klCoef: next }),
    };
    await this.maybeValidate(line);
    await folder.appendMetrics(line);
    await this.maybeCheckpoint();
    reporter.update(line);
  }

  /**
   * Draws the groups of an update; where those of equal rewards are replaced, others after them, so many at most that a
   * policy which solves everything, or nothing, still comes to an update.
   */
  private async nextGroups(update: number): Promise<{ groups: GroupRecord[]; cursor: number; replaced: number }> {
    const { train } = this.deps.config;
    const wanted = train.tasksPerUpdate;
    const groups: GroupRecord[] = [];
    let { cursor } = this.state;
    let replaced = 0;
    while (groups.length < wanted) {
      const first = cursor;
      const rows = Array.from({ length: wanted - groups.length }, (_, i) => this.tasks.at(first + i));
      cursor += rows.length;
      const name = (i: number): string => `g${String(first + i).padStart(6, "0")}`;
      for (const group of await this.draw(rows, name, train.groupSize, train.temperature, update)) {
        if (!isReplaced(group, this.deps.config) || replaced >= replacedPerTask * wanted) groups.push(group);
        else {
          replaced++;
          this.tasks.note(group.task, rewardsOf(group.rollouts, train.missingReward));
        }
      }
    }
    return { groups, cursor, replaced };
  }

  private async draw(
    rows: readonly TaskRow[],
    name: (i: number) => string,
    size: number,
    temperature: number,
    update: number,
  ): Promise<GroupRecord[]> {
    const { engine, config, completions, reporter } = this.deps;
    const deps = { ...completions, engine, temperature, key: seedKey(config.seed) };
    let finished = 0;
    return Promise.all(
      rows.map(async (row, i) => {
        const group = await completionGroup(deps, name(i), row, size);
        finished += size;
        reporter.rollouts(update, finished, rows.length * size);
        return group;
      }),
    );
  }

  private async maybeValidate(line: MetricsLine): Promise<void> {
    const { config, dataset, reporter } = this.deps;
    const { every, tasks, samples, temperature } = config.eval;
    const { update } = this.state;
    if (every === 0 || (update % every !== 0 && update !== config.train.updates)) return;
    const held = tasks === 0 ? dataset.heldOut : dataset.heldOut.slice(0, tasks);
    const groups = await this.draw(held, (i) => `val-u${update}-t${i}`, samples, temperature, update);
    const results = groups.map(evaluated);
    Object.assign(line, validationMetrics(results));
    this.validation = line["val/reward"] as number;
    reporter.validation(update, results);
  }

  private async maybeCheckpoint(): Promise<void> {
    const { config, engine, folder, modelFiles, configSha256 } = this.deps;
    const { update } = this.state;
    if (update !== config.train.updates && update % config.store.checkpointEvery !== 0) return;
    const snapshot = await engine.snapshot({ optimizer: true });
    const { optimizerSteps, weightsSha256 } = snapshot;
    const { reward, validation } = this;
    this.state = { ...this.state, optimizerSteps, weightsSha256, configSha256, reward, validation };
    await folder.writeCheckpoint(this.state, { ...modelFiles, ...snapshot.files });
    await folder.pruneCheckpoints(config.store.keep);
  }
}
