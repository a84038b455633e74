/** How groups are started and trained. */
export interface GroupPolicy {
  /**
   * `sync`: an update's groups all finish before the next ones start. `collocated`: at each update groups are started
   * until `activeGroups` are not trained yet. `interleaved`: whenever fewer than `activeGroups` are at work.
   */
  mode: "sync" | "collocated" | "interleaved";
  /** Groups per update, at least 1. */
  tasksPerUpdate: number;
  activeGroups: number;
  /** Most updates between a group's start and the one that trains it; Infinity for no bound. */
  maxAge: number;
}

interface OpenGroup<G> {
  readonly group: G;
  /** Updates done when it started. */
  readonly startedAt: number;
  finished: boolean;
  collected: boolean;
}

/**
 * Which groups run and which are trained next. The age of what is trained is bounded by what is started and by the order
 * of training: no more groups are open than updates within `maxAge` can take, oldest ones are trained first, and an
 * update waits where training others before a slow group would make that one too old. Nothing is ever discarded for its
 * age. Pure bookkeeping: who calls it starts, watches and trains.
 */
export class GroupSchedule<G> {
  readonly policy: GroupPolicy;
  private readonly open: OpenGroup<G>[] = [];
  private doneUpdates: number;
  /** Groups that are still to be started. */
  private remaining: number;

  /** `groups`: how many are to be trained in all; `updates`: updates done before. */
  constructor(policy: GroupPolicy, groups: number, updates = 0) {
    this.policy = policy;
    this.remaining = groups;
    this.doneUpdates = updates;
  }

  /** Updates done. */
  get updates(): number {
    return this.doneUpdates;
  }

  /** Groups that were started and not trained, in order of their start. */
  get untrained(): G[] {
    return this.open.map(({ group }) => group);
  }

  /** Groups that were started and have not finished. */
  get atWork(): number {
    return this.open.filter(({ finished }) => !finished).length;
  }

  /** True when every group is trained. */
  get isDone(): boolean {
    return this.remaining === 0 && this.open.length === 0;
  }

  /** How many groups may start now. */
  get room(): number {
    const { mode, tasksPerUpdate, activeGroups, maxAge } = this.policy;
    const wanted =
      mode === "interleaved"
        ? activeGroups - this.atWork
        : (mode === "sync" ? tasksPerUpdate : activeGroups) - this.open.length;
    const young = tasksPerUpdate * (maxAge + 1) - this.open.length;
    return Math.max(0, Math.min(wanted, young, this.remaining));
  }

  /** A group has started; `startedAt` of one that was carried over from an earlier run. */
  start(group: G, startedAt: number = this.doneUpdates): void {
    this.open.push({ group, startedAt, finished: false, collected: false });
    this.remaining--;
  }

  /** All rollouts of a group have ended. */
  finish(group: G): void {
    const found = this.find(group);
    if (found !== undefined) found.finished = true;
  }

  /** Takes a group out untrained; another one is to be started in its place. */
  drop(group: G): void {
    const at = this.open.findIndex((g) => g.group === group);
    if (at < 0) return;
    this.open.splice(at, 1);
    this.remaining++;
  }

  /**
   * The group whose gradients come next; null for none yet. They are added up in the order of the groups' starts, lest
   * the sum's last bits depend on who finished first: early for those before which none is at work, as far as the next
   * update can take them for certain; for the others once all groups of the update are known.
   */
  collectable(): G | null {
    const { collected } = this;
    const batch = this.batch();
    if (batch !== null) return batch[collected.length] ?? null;
    const candidate = this.open[this.afterCollected];
    if (candidate?.finished !== true) return null;
    const chosen = [...collected, candidate];
    return chosen.length <= this.batchSize && this.leavesNoneTooOld(chosen) ? candidate.group : null;
  }

  /** The gradients of a group are part of the next update from now on. */
  collect(group: G): void {
    const found = this.find(group);
    if (found !== undefined) found.collected = true;
  }

  /** The groups of the next update, in order of their start; null while it must wait. */
  batch(): G[] | null {
    const { collected } = this;
    const others = this.open.slice(this.afterCollected).filter((g) => g.finished);
    const chosen = [...collected, ...others.slice(0, this.batchSize - collected.length)];
    if (chosen.length < this.batchSize || !this.leavesNoneTooOld(chosen)) return null;
    return chosen.map(({ group }) => group);
  }

  /** An update has trained these groups. */
  updated(batch: readonly G[]): void {
    for (const group of batch) {
      const at = this.open.findIndex((g) => g.group === group);
      if (at >= 0) this.open.splice(at, 1);
    }
    this.doneUpdates++;
  }

  /** The age each group would be trained at by the next update. */
  ageOf(group: G): number {
    return this.doneUpdates - (this.find(group)?.startedAt ?? this.doneUpdates);
  }

  private get collected(): OpenGroup<G>[] {
    return this.open.filter((g) => g.collected);
  }

  /** Place of the first group that can still be collected: no gradients are added after a younger group's. */
  private get afterCollected(): number {
    return this.open.findLastIndex((g) => g.collected) + 1;
  }

  private get batchSize(): number {
    return Math.min(this.policy.tasksPerUpdate, this.open.length + this.remaining);
  }

  /**
   * True when, with `chosen` in the next update, the updates after it can still train every other open group in time.
   * With fewer than a whole batch chosen, the rest of it may go to whoever is due first.
   */
  private leavesNoneTooOld(chosen: readonly OpenGroup<G>[]): boolean {
    const { tasksPerUpdate, maxAge } = this.policy;
    if (maxAge === Number.POSITIVE_INFINITY) return true;
    const free = this.batchSize - chosen.length;
    const due = this.open
      .filter((g) => !chosen.includes(g))
      .map((g) => g.startedAt + maxAge - this.doneUpdates)
      .sort((a, b) => a - b);
    // The i-th group in order of its last update d may count on the free places of this one and on d whole ones.
    return due.every((d, i) => i < free + tasksPerUpdate * Math.max(0, d));
  }

  private find(group: G): OpenGroup<G> | undefined {
    return this.open.find((g) => g.group === group);
  }
}
