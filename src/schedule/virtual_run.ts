import type { DevicePolicy } from "./device_schedule.ts";
import { type GroupPolicy, GroupSchedule } from "./group_schedule.ts";
import {
  type BusyTime,
  type DeviceCosts,
  type DeviceLimits,
  type VirtualCall,
  VirtualDevice,
} from "./virtual_device.ts";

/** What an agent does between two calls: how long it works, and how many tokens its next prompt adds. */
export interface VirtualTurn {
  readonly toolMs: number;
  readonly promptTokens: number;
  readonly replyTokens: number;
}

/** The turns of one rollout; `toolMs` of a turn passes before its call. */
export type VirtualRollout = readonly VirtualTurn[];

/** A list of groups, to be trained to its end. */
export interface VirtualWorkload {
  readonly groups: readonly (readonly VirtualRollout[])[];
  /** Tokens that the first prompts of a group's rollouts have in common; default none. */
  readonly sharedTokens?: number;
}

/** How a virtual run is made. */
export interface VirtualRunOptions {
  readonly costs: DeviceCosts;
  readonly limits: DeviceLimits;
  readonly device: DevicePolicy;
  readonly groups: GroupPolicy;
  /** From a reply to the next call of an agent whose tool takes no time. */
  readonly turnMs?: number;
  /** Whether gradients of finished groups are begun before their batch is complete. */
  readonly collects: boolean;
}

/** What a virtual run came to. */
export interface VirtualResult {
  readonly seconds: number;
  readonly deviceSeconds: Record<keyof BusyTime | "idle", number>;
  /** Prompt tokens computed, and decode steps. */
  readonly promptTokens: number;
  readonly decodeSteps: number;
  /** Largest age of a trained group, in updates. */
  readonly maxAge: number;
  readonly updates: number;
}

interface VirtualGroup {
  readonly index: number;
  readonly rollouts: readonly VirtualRollout[];
  left: number;
}

interface Agent {
  readonly group: VirtualGroup;
  readonly rollout: VirtualRollout;
  turn: number;
  /** Tokens of its conversation, and the version under which they can be found; null when weights changed over them. */
  tokens: number;
  version: number | null;
}

/**
 * Runs a workload on a virtual device and clock, with the very schedules that run the engine and the loop: what a mode
 * will take on a device of known costs.
 */
export class VirtualRun {
  private readonly options: VirtualRunOptions;
  private readonly sharedTokens: number;
  private readonly schedule: GroupSchedule<VirtualGroup>;
  private readonly device: VirtualDevice;
  private readonly fresh: VirtualGroup[];
  private readonly agents = new Map<string, Agent>();
  /** Calls to come, by time. */
  private readonly sleeping: { atMs: number; agent: Agent; id: string }[] = [];
  private updating = false;
  private maxAge = 0;

  constructor(workload: VirtualWorkload, options: VirtualRunOptions) {
    this.options = options;
    this.sharedTokens = workload.sharedTokens ?? 0;
    this.fresh = workload.groups.map((rollouts, index) => ({ index, rollouts, left: rollouts.length }));
    this.schedule = new GroupSchedule(options.groups, this.fresh.length);
    const { costs, limits, device } = options;
    this.device = new VirtualDevice(costs, limits, device, (call, version) => this.answered(call, version));
  }

  /** Runs to the end of the list. */
  run(): VirtualResult {
    this.react();
    while (!this.schedule.isDone) {
      this.wake();
      if (this.device.act()) continue;
      const next = this.sleeping[0];
      if (next === undefined) break;
      this.device.nowMs = Math.max(this.device.nowMs, next.atMs);
    }
    const { nowMs, busyMs, promptTokens, decodeSteps } = this.device;
    const busy = Object.entries(busyMs).map(([kind, ms]) => [kind, ms / 1000] as const);
    const idle = nowMs / 1000 - busy.reduce((sum, [, seconds]) => sum + seconds, 0);
    return {
      seconds: nowMs / 1000,
      deviceSeconds: { ...Object.fromEntries(busy), idle } as VirtualResult["deviceSeconds"],
      ...{ promptTokens, decodeSteps },
      maxAge: this.maxAge,
      updates: this.schedule.updates,
    };
  }

  /** Calls whose agents are done with their tools. */
  private wake(): void {
    const { sharedTokens } = this;
    while (this.sleeping[0] !== undefined && this.sleeping[0].atMs <= this.device.nowMs) {
      const { agent, id } = this.sleeping.shift() as (typeof this.sleeping)[number];
      const turn = agent.rollout[agent.turn] as VirtualTurn;
      this.device.generate({
        id,
        promptTokens: agent.tokens + turn.promptTokens,
        replyTokens: turn.replyTokens,
        // Nothing is computed from the last token drawn before it is a prompt's.
        cachedTokens: Math.max(0, agent.tokens - 1),
        version: agent.version,
        ...(sharedTokens === 0 ? {} : { shared: { key: `${agent.group.index}`, tokens: sharedTokens } }),
      });
      agent.tokens += turn.promptTokens + turn.replyTokens;
    }
  }

  private sleep(agent: Agent, id: string): void {
    const between = agent.turn === 0 ? 0 : (this.options.turnMs ?? 0);
    const atMs = this.device.nowMs + between + (agent.rollout[agent.turn] as VirtualTurn).toolMs;
    const place = this.sleeping.findIndex((s) => s.atMs > atMs);
    this.sleeping.splice(place < 0 ? this.sleeping.length : place, 0, { atMs, agent, id });
  }

  private answered({ id }: VirtualCall, version: number | null): void {
    const agent = this.agents.get(id) as Agent;
    agent.version = version;
    agent.turn++;
    if (agent.turn < agent.rollout.length) {
      this.sleep(agent, id);
      return;
    }
    this.agents.delete(id);
    if (--agent.group.left > 0) return;
    this.schedule.finish(agent.group);
    this.react();
  }

  /** Starts, collects and updates whatever may be. */
  private react(): void {
    for (let room = this.schedule.room; room > 0; room--) this.start(this.fresh.shift() as VirtualGroup);
    if (this.updating) return;
    this.collect();
    const batch = this.schedule.batch();
    if (batch === null) return;
    this.updating = true;
    for (const group of batch) this.maxAge = Math.max(this.maxAge, this.schedule.ageOf(group));
    if (!this.options.collects) this.device.accumulate(this.passesOf(batch.flatMap((g) => g.rollouts)), () => {});
    this.device.update(() => {
      this.updating = false;
      this.schedule.updated(batch);
      this.react();
    });
  }

  private collect(): void {
    if (!this.options.collects) return;
    for (let group = this.schedule.collectable(); group !== null; group = this.schedule.collectable()) {
      this.schedule.collect(group);
      this.device.accumulate(this.passesOf(group.rollouts), () => {});
    }
  }

  private start(group: VirtualGroup): void {
    this.schedule.start(group);
    for (const [i, rollout] of group.rollouts.entries()) {
      const agent: Agent = { group, rollout, turn: 0, tokens: 0, version: this.device.version };
      const id = `${group.index}-${i}`;
      this.agents.set(id, agent);
      this.sleep(agent, id);
    }
  }

  /** What the micro-batches of some rollouts take, each a row of all its tokens, packed in their order. */
  private passesOf(rollouts: readonly VirtualRollout[]): number[] {
    const { costs, limits } = this.options;
    const passes: { tokens: number; pairs: number }[] = [];
    for (const rollout of rollouts) {
      const length = rollout.reduce((n, t) => n + t.promptTokens + t.replyTokens, 0);
      const open = passes.at(-1);
      const pairs = (length * length) / 2 / 1000;
      if (open === undefined || open.tokens + length > limits.microBatchTokens) passes.push({ tokens: length, pairs });
      else Object.assign(open, { tokens: open.tokens + length, pairs: open.pairs + pairs });
    }
    return passes.map((p) => costs.trainPass + costs.trainToken * p.tokens + costs.trainPairs * p.pairs);
  }
}
