// A loop, agents and an engine in small: the engine and the schedules are the real ones, the model is a sum, the clock is
// virtual, and whatever can go wrong does at random.
import { LocalEngine } from "../../src/engine/local_engine.ts";
import { GroupSchedule } from "../../src/schedule/group_schedule.ts";
import type { GenerateResult } from "../../src/schema/engine.ts";
import { countingRow, emptyUpdate, request } from "./counting_engine.ts";
import type { Scenario } from "./scenario.ts";
import { type DeviceState, modulus, SumParts } from "./sum_parts.ts";
import { VirtualClock } from "./virtual_clock.ts";

/** A call with its outcome. */
export interface Outcome {
  readonly prompt: readonly number[];
  readonly result: GenerateResult;
  readonly versionAtStart: number;
}

/** What a world came to. */
export interface WorldResult {
  readonly outcomes: ReadonlyMap<string, Outcome>;
  /** Groups of each update, in order, and the age each was trained at. */
  readonly updates: readonly (readonly number[])[];
  readonly ages: readonly number[];
  readonly versions: readonly number[];
  /** Weight of each version. */
  readonly weights: ReadonlyMap<number, number>;
  readonly weightsSha256: string;
  /** Most steps of inference between two quanta of one pass. */
  readonly mostStepsInPass: number;
  readonly actions: number;
  readonly deviceLosses: number;
}

/** Runs a world to its end. @throws when anybody waits for ever */
export async function runWorld(scenario: Scenario): Promise<WorldResult> {
  const clock = new VirtualClock();
  const device: DeviceState = {
    clock,
    losses: new Set(scenario.losses),
    operations: 0,
    inPass: false,
    stepsInPass: 0,
    mostStepsInPass: 0,
    onStep: async () => {},
  };
  const engine = await LocalEngine.open({
    open: async (state) => {
      const bytes = state?.files.weight;
      return new SumParts(device, bytes === undefined ? 0 : (bytes[0] as number) * 256 + (bytes[1] as number));
    },
    clock,
    limits: { maxSequences: 5, prefillTokens: 24, burst: 4 },
    version: 0,
    faults: scenario.nanUpdates.map((update) => ({ kind: "nan-grad", update })),
    policy: scenario.device,
  });
  device.onStep = async () => {
    // What is read here is how things stand now, whenever the promise is looked at.
    const { activeSequences } = await engine.stats();
    if (scenario.device.inFlight === "drain" && activeSequences > 0)
      throw new Error("A step over sequences in flight.");
  };
  const world = new World(scenario, engine, clock);
  await clock.drive(world.run());
  const { weightsSha256 } = await engine.snapshot({ optimizer: false });
  const { deviceLosses } = await engine.stats();
  await engine.close();
  const { mostStepsInPass, operations } = device;
  return { ...world.result(), weightsSha256, deviceLosses, mostStepsInPass, actions: operations };
}

class World {
  private readonly scenario: Scenario;
  private readonly engine: LocalEngine;
  private readonly clock: VirtualClock;
  private readonly schedule: GroupSchedule<number>;
  private readonly left: number[];
  private readonly outcomes = new Map<string, Outcome>();
  private readonly updates: number[][] = [];
  private readonly ages: number[] = [];
  private readonly versions = [0];
  private readonly weights = new Map([[0, 0]]);
  private next = 0;
  private changed: () => void = () => {};

  constructor(scenario: Scenario, engine: LocalEngine, clock: VirtualClock) {
    this.scenario = scenario;
    this.engine = engine;
    this.clock = clock;
    this.schedule = new GroupSchedule(scenario.groups, scenario.work.length);
    this.left = scenario.work.map((rollouts) => rollouts.length);
  }

  result(): Pick<WorldResult, "outcomes" | "updates" | "ages" | "versions" | "weights"> {
    const { outcomes, updates, ages, versions, weights } = this;
    return { outcomes, updates, ages, versions, weights };
  }

  /** The loop: starts, collects, updates, waits. */
  async run(): Promise<void> {
    const { collects } = this.scenario;
    let collected: Promise<unknown>[] = [];
    while (!this.schedule.isDone) {
      for (let room = this.schedule.room; room > 0; room--) this.start(this.next++);
      for (let g = this.schedule.collectable(); collects && g !== null; g = this.schedule.collectable()) {
        this.schedule.collect(g);
        collected.push(this.engine.accumulate({ id: `c${g}`, rows: rowsOf([g]), loss: emptyUpdate("").loss }));
      }
      const batch = this.schedule.batch();
      if (batch === null) {
        await new Promise<void>((resolve) => {
          this.changed = resolve;
        });
        continue;
      }
      this.ages.push(...batch.map((g) => this.schedule.ageOf(g)));
      const update = { ...emptyUpdate(`u${this.updates.length}`), rows: collects ? [] : rowsOf(batch) };
      const { version } = await this.engine.update({ ...update, accumulated: collects });
      await Promise.all(collected);
      collected = [];
      this.schedule.updated(batch);
      this.updates.push(batch);
      this.versions.push(version);
      this.weights.set(version, Number((await this.engine.snapshot({ optimizer: false })).weightsSha256));
    }
  }

  private start(group: number): void {
    this.schedule.start(group);
    for (const [i, turns] of (this.scenario.work[group] ?? []).entries()) {
      void this.agent(group, `${group}-${i}`, turns).then(() => {
        this.left[group] = (this.left[group] as number) - 1;
        if (this.left[group] === 0) this.schedule.finish(group);
        this.changed();
      });
    }
  }

  private async agent(group: number, id: string, turns: readonly { toolMs: number; tokens: number }[]): Promise<void> {
    let prompt = [group % modulus, id.length, 3];
    const fails = this.scenario.failures.get(id) ?? Number.POSITIVE_INFINITY;
    for (const [i, { toolMs, tokens }] of turns.entries()) {
      if (i >= fails) return;
      await this.clock.sleep(toolMs);
      const call = `${id}-${i}`;
      const versionAtStart = (await this.engine.info()).version;
      const cancelMs = this.scenario.cancels.get(call);
      if (cancelMs !== undefined) void this.clock.sleep(cancelMs).then(() => this.engine.cancel(call));
      const result = await this.engine.generate(request(call, prompt, tokens));
      this.outcomes.set(call, { prompt, result, versionAtStart });
      if (result.finishReason === "cancelled") return;
      prompt = [...prompt, ...result.ids, (group + i) % modulus];
    }
  }
}

const rowsOf = (groups: readonly number[]) => groups.flatMap((g) => [countingRow(g + 1), countingRow(2 * g + 1)]);
