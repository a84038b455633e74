import type { Clock } from "../core/clock.ts";
import type { GroupRecord } from "../rl/batch/batch_input.ts";
import type { RolloutHooks } from "../rollout/hooks.ts";
import { GroupSchedule } from "../schedule/group_schedule.ts";
import type { ExperimentConfig } from "../schema/experiment.ts";
import type { Store } from "../schema/store.ts";
import type { TaskStream } from "../schema/task.ts";
import type { RolloutConfig } from "../schema/wire.ts";
import { Completion } from "./completion.ts";
import { type Group, nameGroup, readGroup, startGroups } from "./groups.ts";
import { lifecycleMetrics } from "./lifecycle.ts";
import { isReplaced, replacedPerTask, rewardsOf } from "./refill.ts";
import type { RunState } from "./run_folder.ts";
import { TaskSampler } from "./task_sampler.ts";

/** What groups are started with. */
export interface GroupRunnerDeps {
  readonly config: ExperimentConfig;
  readonly tasks: TaskStream;
  readonly store: Store;
  readonly clock: Clock;
  readonly rolloutConfig: RolloutConfig;
  readonly hooks: RolloutHooks;
  readonly signal: AbortSignal;
}

/** Groups that are started before others are let in. */
const startedAtOnce = 64;

/** Starts the groups of a run's tasks as its schedule says, and knows which have finished. */
export class GroupRunner {
  readonly schedule: GroupSchedule<Group>;
  private readonly deps: GroupRunnerDeps;
  private readonly completion: Completion;
  private readonly tasks: TaskSampler;
  private cursor: number;
  /** Finished groups that stay although their rewards are equal, or that were looked at and are not. */
  private readonly kept = new Set<Group>();
  /** Groups replaced since the last update. */
  private replaced = 0;

  /** Goes on where `state` stands. */
  constructor(deps: GroupRunnerDeps, state: RunState) {
    const { train, schedule } = deps.config;
    this.deps = deps;
    this.completion = new Completion(deps.store);
    this.cursor = state.cursor;
    this.tasks = new TaskSampler(deps.tasks, train.taskSampling, deps.config.seed, state.tasks);
    const left = Math.max(0, train.updates - state.update) * train.tasksPerUpdate;
    const maxAge = schedule.mode === "sync" ? 0 : schedule.maxAge;
    const policy = { ...schedule, tasksPerUpdate: train.tasksPerUpdate, maxAge };
    this.schedule = new GroupSchedule(policy, left, state.update);
  }

  /** The groups that a state carries over, as if they had never stopped. */
  async resume({ carryOver, startedAt = [], update }: RunState): Promise<void> {
    const carried = carryOver.map((index) => this.groupAt(index));
    for (const [i, group] of carried.entries()) this.schedule.start(group, startedAt[i] ?? update);
    await this.start(carried);
  }

  /** What a checkpoint says of the groups: the next task, those not trained yet, and when these were started. */
  state(): Pick<RunState, "cursor" | "carryOver" | "tasks"> & { startedAt: number[] } {
    const { untrained, updates } = this.schedule;
    const carryOver = untrained.map((group) => Number(group.id.slice(1)));
    const tasks = this.tasks.state(carryOver);
    return {
      cursor: this.cursor,
      carryOver,
      ...(tasks === undefined ? {} : { tasks }),
      startedAt: untrained.map((group) => updates - this.schedule.ageOf(group)),
    };
  }

  /** Rollouts that have finished, of all that are not trained yet. */
  progress(): { finished: number; total: number } {
    const { untrained } = this.schedule;
    const finished = untrained.reduce((n, group) => n + this.completion.finishedOf(group), 0);
    return { finished, total: untrained.length * this.deps.config.train.groupSize };
  }

  /** After an update, the updates since those in which its carried-over groups were started, at most. */
  carriedAge(): number {
    const { schedule } = this;
    return schedule.untrained.reduce((oldest, group) => Math.max(oldest, schedule.ageOf(group) - 1), 0);
  }

  /** How long the rollouts of finished groups waited and ran. */
  lifecycle(groups: readonly Group[]): Record<string, number> {
    return lifecycleMetrics(
      groups.flatMap((group) => this.completion.livesOf(group)),
      this.deps.clock,
    );
  }

  /** Notes which groups have finished, and starts others in their place as far as there is room. */
  async lookAndStart(): Promise<void> {
    do {
      await this.topUp();
      await this.completion.catchUp();
      for (const group of this.schedule.untrained) if (this.completion.isComplete(group)) await this.finish(group);
      // Groups of a resumed run may have finished before they were started, and make room.
    } while (this.schedule.room > 0);
  }

  /** Resolves when something happened to a rollout since the last look. @throws CancelledError when the run is stopped */
  changed(): Promise<void> {
    return this.completion.changed(this.deps.signal);
  }

  /** Waits for an update; where agents work on meanwhile, groups that finish are followed by others. */
  async whileStarting<T>(update: Promise<T>): Promise<T> {
    if (this.deps.config.schedule.mode !== "interleaved") return update;
    const { signal } = this.deps;
    const ended = new AbortController();
    const end = update.catch(() => undefined).then(() => ended.abort());
    const either = AbortSignal.any([ended.signal, signal]);
    while (!either.aborted) {
      await Promise.race([end, this.completion.changed(either).catch(() => undefined)]);
      if (!either.aborted) await this.lookAndStart();
    }
    return update;
  }

  /** What an update's groups earned, for the choice of later tasks; returns how many groups were replaced for it. */
  trained(groups: readonly GroupRecord[]): { replaced: number } {
    for (const { task, rollouts } of groups) this.note(task, rollouts);
    const { replaced } = this;
    this.replaced = 0;
    return { replaced };
  }

  private note(task: string, rollouts: GroupRecord["rollouts"]): void {
    this.tasks.note(task, rewardsOf(rollouts, this.deps.config.train.missingReward));
  }

  /**
   * A group has ended: it waits for its update, or, where such groups are replaced and its rewards are all equal, makes
   * room for another task. So many are replaced at most between two updates, lest a policy that solves everything, or
   * nothing, never comes to one.
   */
  private async finish(group: Group): Promise<void> {
    const { config, store } = this.deps;
    if (config.train.zeroVariance === "refill" && !this.kept.has(group)) {
      const record = await readGroup(store, group);
      if (isReplaced(record, config) && this.replaced < replacedPerTask * config.train.tasksPerUpdate) {
        this.replaced++;
        this.note(record.task, record.rollouts);
        this.schedule.drop(group);
        return;
      }
      this.kept.add(group);
    }
    this.schedule.finish(group);
  }

  /** Starts groups as far as there is room, some at a time: a stop is heard between them. @throws CancelledError */
  private async topUp(): Promise<void> {
    const { clock, signal } = this.deps;
    while (this.schedule.room > 0) {
      const fresh: Group[] = [];
      while (this.schedule.room > 0 && fresh.length < startedAtOnce) {
        const group = this.groupAt(this.cursor++);
        this.schedule.start(group);
        fresh.push(group);
      }
      await this.start(fresh);
      if (this.schedule.room > 0) await clock.sleep(0, signal);
    }
  }

  private async start(groups: readonly Group[]): Promise<void> {
    const { store, clock, rolloutConfig: config, hooks } = this.deps;
    await startGroups(groups, { store, isTrain: true, config, hooks, now: clock.now() / 1000 });
  }

  private groupAt(index: number): Group {
    const { groupSize } = this.deps.config.train;
    return nameGroup(`g${String(index).padStart(6, "0")}`, this.tasks.at(index), groupSize);
  }
}
