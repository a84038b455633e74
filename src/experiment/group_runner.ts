import type { Clock } from "../core/clock.ts";
import type { RolloutHooks } from "../rollout/hooks.ts";
import { GroupSchedule } from "../schedule/group_schedule.ts";
import type { ExperimentConfig } from "../schema/experiment.ts";
import type { Store } from "../schema/store.ts";
import type { TaskStream } from "../schema/task.ts";
import type { RolloutConfig } from "../schema/wire.ts";
import { Completion } from "./completion.ts";
import { type Group, nameGroup, startGroups } from "./groups.ts";
import { lifecycleMetrics } from "./lifecycle.ts";
import type { RunState } from "./run_folder.ts";

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

/** Starts the groups of a run's tasks as its schedule says, and knows which have finished. */
export class GroupRunner {
  readonly schedule: GroupSchedule<Group>;
  private readonly deps: GroupRunnerDeps;
  private readonly completion: Completion;
  private cursor: number;

  /** Goes on where `state` stands. */
  constructor(deps: GroupRunnerDeps, state: RunState) {
    const { train, schedule } = deps.config;
    this.deps = deps;
    this.completion = new Completion(deps.store);
    this.cursor = state.cursor;
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
  state(): Pick<RunState, "cursor" | "carryOver"> & { startedAt: number[] } {
    const { untrained, updates } = this.schedule;
    return {
      cursor: this.cursor,
      carryOver: untrained.map((group) => Number(group.id.slice(1))),
      startedAt: untrained.map((group) => updates - this.schedule.ageOf(group)),
    };
  }

  /** Rollouts that have finished, of all that are not trained yet. */
  progress(): { finished: number; total: number } {
    const { untrained } = this.schedule;
    const finished = untrained.reduce((n, group) => n + this.completion.finishedOf(group), 0);
    return { finished, total: untrained.length * this.deps.config.train.groupSize };
  }

  /** How long the rollouts of finished groups waited and ran. */
  lifecycle(groups: readonly Group[]): Record<string, number> {
    return lifecycleMetrics(groups.flatMap((group) => this.completion.livesOf(group)));
  }

  /** Notes which groups have finished, and starts others in their place as far as there is room. */
  async lookAndStart(): Promise<void> {
    do {
      await this.topUp();
      await this.completion.catchUp();
      for (const group of this.schedule.untrained) if (this.completion.isComplete(group)) this.schedule.finish(group);
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

  private async topUp(): Promise<void> {
    const fresh: Group[] = [];
    while (this.schedule.room > 0) {
      const group = this.groupAt(this.cursor++);
      this.schedule.start(group);
      fresh.push(group);
    }
    if (fresh.length > 0) await this.start(fresh);
  }

  private async start(groups: readonly Group[]): Promise<void> {
    const { store, clock, rolloutConfig: config, hooks } = this.deps;
    await startGroups(groups, { store, isTrain: true, config, hooks, now: clock.now() / 1000 });
  }

  private groupAt(index: number): Group {
    const { groupSize } = this.deps.config.train;
    return nameGroup(`g${String(index).padStart(6, "0")}`, this.deps.tasks.at(index), groupSize);
  }
}
