// A loop, agents and an engine in small: the engine and the schedules are the real ones, the model is a sum, the clock is
// virtual, and whatever can go wrong does at random.
import { LocalEngine } from "../../src/engine/local_engine.ts";
import { GroupSchedule } from "../../src/schedule/group_schedule.ts";
import type { GenerateResult, TrainRow } from "../../src/schema/engine.ts";
import { countingRow, emptyUpdate, request } from "./counting_engine.ts";
import type { Scenario } from "./scenario.ts";
import { type DeviceState, modulus, numberOf, SumParts } from "./sum_parts.ts";
import { VirtualClock } from "./virtual_clock.ts";
import { Waits } from "./waits.ts";

/** A call with its outcome. */
export interface Outcome {
  readonly prompt: readonly number[];
  readonly result: GenerateResult;
  readonly versionAtStart: number;
}

/** An answer names the weight that gave it. */
export interface Answer {
  readonly weight: number;
  readonly asked: number;
  readonly answered: number;
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
  /** What every question was told by, and the versions when it was asked and answered. */
  readonly answers: readonly Answer[];
  /** What the loop's scoring passes said, update by update. */
  readonly judged: readonly (readonly number[])[];
  readonly critic: number;
  readonly waits: Waits;
  readonly deviceLosses: number;
}

/** Runs a world to its end. @throws when anybody waits for ever */
export async function runWorld(scenario: Scenario): Promise<WorldResult> {
  const clock = new VirtualClock();
  const device: DeviceState = {
    clock,
    losses: new Set(scenario.losses),
    waits: new Waits(scenario.device),
    criticSteps: new Set(),
    operations: 0,
    onStep: async () => {},
  };
  const engine = await LocalEngine.open({
    open: async (state) => new SumParts(device, state),
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
  const world = new World(scenario, engine, clock, device.waits);
  await clock.drive(world.run());
  const { weightsSha256, files } = await engine.snapshot({ optimizer: true });
  const { deviceLosses } = await engine.stats();
  await engine.close();
  const critic = numberOf(files["critic/weight"]);
  return { ...world.result(), weightsSha256, critic, deviceLosses, waits: device.waits };
}

class World {
  private readonly scenario: Scenario;
  private readonly engine: LocalEngine;
  private readonly clock: VirtualClock;
  private readonly waits: Waits;
  private readonly schedule: GroupSchedule<number>;
  private readonly left: number[];
  private readonly outcomes = new Map<string, Outcome>();
  private readonly updates: number[][] = [];
  private readonly ages: number[] = [];
  private readonly versions = [0];
  private readonly weights = new Map([[0, 0]]);
  private readonly answers: Answer[] = [];
  private readonly judged: number[][] = [];
  private trainings = 0;
  private next = 0;
  private changed: () => void = () => {};

  constructor(scenario: Scenario, engine: LocalEngine, clock: VirtualClock, waits: Waits) {
    this.scenario = scenario;
    this.engine = engine;
    this.clock = clock;
    this.waits = waits;
    this.schedule = new GroupSchedule(scenario.groups, scenario.work.length);
    this.left = scenario.work.map((rollouts) => rollouts.length);
  }

  result(): Pick<WorldResult, "outcomes" | "updates" | "ages" | "versions" | "weights" | "answers" | "judged"> {
    const { outcomes, updates, ages, versions, weights, answers, judged } = this;
    return { outcomes, updates, ages, versions, weights, answers, judged };
  }

  /** The loop, beside those who ask questions. */
  async run(): Promise<void> {
    const asking = this.scenario.questions.map((question, i) => this.question(i, question));
    let collected: Promise<unknown>[] = [];
    while (!this.schedule.isDone) {
      this.fill();
      collected = [...collected, ...this.collect()];
      const batch = this.schedule.batch();
      if (batch === null) {
        await new Promise<void>((resolve) => {
          this.changed = resolve;
        });
        continue;
      }
      this.ages.push(...batch.map((g) => this.schedule.ageOf(g)));
      const version = await this.update(batch);
      await Promise.all(collected);
      collected = [];
      this.schedule.updated(batch);
      this.updates.push(batch);
      this.versions.push(version);
      this.weights.set(version, Number((await this.engine.snapshot({ optimizer: false })).weightsSha256));
    }
    await Promise.all(asking);
  }

  private collect(): Promise<unknown>[] {
    const collected: Promise<unknown>[] = [];
    if (!this.scenario.collects) return collected;
    for (let g = this.schedule.collectable(); g !== null; g = this.schedule.collectable()) {
      this.schedule.collect(g);
      const request = { id: `c${g}`, rows: rowsOf([g]), loss: emptyUpdate("").loss };
      collected.push(this.training(() => this.engine.accumulate(request)));
    }
    return collected;
  }

  private async update(batch: readonly number[]): Promise<number> {
    const { collects, critic } = this.scenario;
    const number = this.updates.length;
    const rows = rowsOf(batch);
    const { optimizer } = emptyUpdate("");
    if (critic) {
      const asked = { rows, temperature: 1, policy: true, reference: false, values: true };
      const { logprobs, values } = await this.ask(`v${number}`, (id) => this.engine.scoreRows({ id, ...asked }));
      this.judged.push([...(logprobs ?? []), ...(values ?? [])]);
      await this.ask(`k${number}`, (id) => this.engine.updateCritic({ id, rows, optimizer, clipRange: 0 }));
    }
    const update = { ...emptyUpdate(`u${number}`), rows: collects ? [] : rows, accumulated: collects };
    return (await this.training(() => this.engine.update(update))).version;
  }

  private async training<T>(run: () => Promise<T>): Promise<T> {
    if (this.trainings++ === 0) this.waits.asked("queue", "training");
    const result = await run();
    if (--this.trainings === 0) this.waits.answered("queue");
    return result;
  }

  private async ask<T>(id: string, run: (id: string) => Promise<T>): Promise<T> {
    this.waits.asked(id, "question");
    const result = await run(id);
    this.waits.answered(id);
    return result;
  }

  /** Somebody else's questions: several at once, of the weights there are. */
  private async question(index: number, { atMs, kind, count }: Scenario["questions"][number]): Promise<void> {
    await this.clock.sleep(atMs);
    const rows = [countingRow(index)];
    const how = { rows, temperature: 1, policy: true, reference: false, values: false };
    await Promise.all(
      Array.from({ length: count }, async (_, i) => {
        const asked = (await this.engine.info()).version;
        const { logprobs } = await this.ask<{ logprobs: Float32Array | null }>(`q${index}-${i}`, (id) =>
          kind === "rows"
            ? this.engine.scoreRows({ id, ...how })
            : this.engine.score({ id, ids: Int32Array.of(index), temperature: 1 }),
        );
        const answered = (await this.engine.info()).version;
        this.answers.push({ weight: -(logprobs?.[0] ?? Number.NaN) - index, asked, answered });
      }),
    );
  }

  private fill(): void {
    for (let room = this.schedule.room; room > 0; room--) this.start(this.next++);
  }

  private start(group: number): void {
    this.schedule.start(group);
    for (const [i, turns] of (this.scenario.work[group] ?? []).entries()) {
      void this.agent(group, `${group}-${i}`, turns).then(() => {
        this.left[group] = (this.left[group] as number) - 1;
        if (this.left[group] === 0) this.schedule.finish(group);
        if (this.scenario.groups.mode === "interleaved") this.fill();
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
      this.waits.asked(call, "call");
      const running = this.engine.generate(request(call, prompt, tokens));
      if (cancelMs === 0) void this.engine.cancel(call);
      else if (cancelMs !== undefined) void this.clock.sleep(cancelMs).then(() => this.engine.cancel(call));
      const result = await running;
      this.waits.answered(call);
      this.outcomes.set(call, { prompt, result, versionAtStart });
      if (result.finishReason === "cancelled") return;
      prompt = [...prompt, ...result.ids, (group + i) % modulus];
    }
  }
}

/** Rows of groups, in order. */
export const rowsOf = (groups: readonly number[]): TrainRow[] =>
  groups.flatMap((g) => [countingRow(g + 1), countingRow(2 * g + 1)]);
