// A loop, agents and an engine in small: the engine and the schedules are the real ones, the model is a sum, the clock is
// virtual, and whatever can go wrong does at random.
import { DeviceError } from "../../src/core/errors.ts";
import type { Rng } from "../../src/core/rng.ts";
import type { EngineParts, GradientOptions, Gradients, ModelState } from "../../src/engine/engine_parts.ts";
import { LocalEngine } from "../../src/engine/local_engine.ts";
import type { Drawn } from "../../src/infer/runner.ts";
import type { Sequence } from "../../src/infer/sequence.ts";
import type { DevicePolicy } from "../../src/schedule/device_schedule.ts";
import { type GroupPolicy, GroupSchedule } from "../../src/schedule/group_schedule.ts";
import type { AccumulateRequest, GenerateResult, UpdateRequest, UpdateResult } from "../../src/schema/engine.ts";
import { countingRow, emptyUpdate, request } from "./counting_engine.ts";
import { VirtualClock } from "./virtual_clock.ts";

/** One random world. */
export interface Scenario {
  readonly groups: GroupPolicy;
  readonly device: DevicePolicy;
  readonly collects: boolean;
  /** Turns of each rollout of each group: tool time and reply length. */
  readonly work: readonly (readonly (readonly { toolMs: number; tokens: number }[])[])[];
  /** Device operations at which the device is lost, updates whose gradient is no number. */
  readonly losses: readonly number[];
  readonly nanUpdates: readonly number[];
  /** Calls that are cancelled after this time, and rollouts whose agent fails after so many calls. */
  readonly cancels: ReadonlyMap<string, number>;
  readonly failures: ReadonlyMap<string, number>;
}

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

const modulus = 50;
const vocabulary = { contextLength: 400, vocabSize: modulus };

/** What the device is shared by: it outlives the parts that are lost with it. */
interface DeviceState {
  readonly clock: VirtualClock;
  readonly losses: Set<number>;
  operations: number;
  inPass: boolean;
  stepsInPass: number;
  mostStepsInPass: number;
  /** Asserts what must hold when an optimizer step is taken. */
  onStep: () => Promise<void>;
}

/** Draws (sum of all tokens + weight) modulo 50; its gradient depends on the order of rows. */
class SumParts implements EngineParts {
  readonly info = {
    adapter: "sum",
    deviceClass: "software" as const,
    family: "sum",
    parameters: 1,
    microBatchTokens: 1000,
    ...vocabulary,
  };
  readonly pageCount = 24;
  private readonly device: DeviceState;
  private weight: number;
  private gradient = 0;
  private lost = false;

  constructor(device: DeviceState, weight: number) {
    this.device = device;
    this.weight = weight;
  }

  decodeText = (): string => "";

  private operation(ms: number): void {
    this.device.clock.spend(ms);
    if (this.device.losses.delete(++this.device.operations)) this.lost = true;
    if (this.lost) throw new DeviceError("device_lost", "The GPU device was lost: test.");
  }

  private inference(ms: number): void {
    if (this.device.inPass) {
      const steps = ++this.device.stepsInPass;
      this.device.mostStepsInPass = Math.max(this.device.mostStepsInPass, steps);
    }
    this.operation(ms);
  }

  private draw(sequence: Sequence, steps: number): Drawn {
    let sum = this.weight;
    for (let i = 0; i < sequence.length; i++) sum += sequence.tokens[i] as number;
    const ids: number[] = [];
    for (let i = 0; i < steps; i++) {
      ids.push(sum % modulus);
      sum += sum % modulus;
    }
    return { ids, logprobs: ids.map((id) => -id) };
  }

  async prefill(parts: Parameters<EngineParts["prefill"]>[0]): Promise<Drawn[]> {
    this.inference(2);
    return parts.map((p) => (p.samples ? this.draw(p.sequence, 1) : { ids: [], logprobs: [] }));
  }

  async decode(work: Parameters<EngineParts["decode"]>[0]): Promise<Drawn[]> {
    this.inference(work.steps);
    return work.sequences.map((s) => this.draw(s, work.steps));
  }

  async score(): Promise<never> {
    throw new DeviceError("device_validation", "Not asked for here.");
  }

  scoreRows = this.score;
  updateCritic = this.score;

  clearGradients(): void {
    this.gradient = 0;
  }

  async accumulate({ rows }: Pick<AccumulateRequest, "rows">, o: GradientOptions): Promise<Gradients> {
    this.device.inPass = true;
    for (const row of rows) {
      this.device.stepsInPass = 0;
      this.operation(3);
      this.gradient = (this.gradient * 31 + (row.ids[0] as number)) % 9973;
      await o.between?.();
    }
    this.device.inPass = false;
    if (o.fault !== null) this.gradient = Number.NaN;
    return { ...noStatistics, logprobs: new Float32Array(0) };
  }

  async step(_: UpdateRequest): Promise<Omit<UpdateResult, "version" | "drainMs">> {
    await this.device.onStep();
    this.operation(1);
    const bad = Number.isNaN(this.gradient);
    if (!bad) this.weight = (this.weight * 7 + this.gradient + 1) % 9973;
    this.gradient = 0;
    return { ...noStatistics, skipped: bad ? "nan_gradient" : null, gradNorm: 0, logprobs: new Float32Array(0) };
  }

  async snapshot(): Promise<ModelState> {
    this.operation(0);
    return { files: { weight: Uint8Array.from([this.weight >> 8, this.weight & 255]) }, ...hash(this.weight) };
  }

  loseDevice(): void {
    this.lost = true;
  }

  dispose(): void {
    this.device.inPass = false;
  }
}

const noStatistics = {
  loss: 0,
  entropy: 0,
  clipFrac: 0,
  dualClipFrac: 0,
  approxKl: 0,
  logprobDiffMax: 0,
  tokens: 0,
  computedTokens: 0,
  trainMs: 0,
};

function hash(weight: number): Pick<ModelState, "weightsSha256" | "optimizerSteps"> {
  return { weightsSha256: String(weight), optimizerSteps: 0 };
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

/** A world drawn at random. */
export function randomScenario(rng: Rng): Scenario {
  const below = (n: number): number => rng.below(n);
  const tasksPerUpdate = 1 + below(3);
  const mode = (["sync", "collocated", "interleaved"] as const)[below(3)] as GroupPolicy["mode"];
  const maxAge = mode === "sync" ? 0 : ([0, 1, 2, Number.POSITIVE_INFINITY][below(4)] as number);
  const work = Array.from({ length: 1 + below(7) }, () =>
    Array.from({ length: 1 + below(2) }, () =>
      Array.from({ length: 1 + below(3) }, () => ({ toolMs: below(4) * below(12), tokens: 1 + below(14) })),
    ),
  );
  const calls = work.flatMap((rollouts, g) => rollouts.flatMap((turns, i) => turns.map((_, c) => `${g}-${i}-${c}`)));
  const some = <T>(chance: number, value: () => T): [string, T][] =>
    calls.filter(() => rng.uniform() < chance).map((call) => [call, value()]);
  const kv = (["keep", "recompute"] as const)[below(2)] as "keep" | "recompute";
  return {
    groups: { mode, tasksPerUpdate, activeGroups: tasksPerUpdate + 1 + below(3), maxAge },
    device: { inFlight: mode === "interleaved" ? kv : "drain", stepsPerQuantum: 1 + below(4) },
    collects: mode === "interleaved" && maxAge > 0,
    work,
    losses: below(4) === 0 ? [1 + below(40)] : [],
    nanUpdates: below(4) === 0 ? [1 + below(3)] : [],
    cancels: new Map(below(3) === 0 ? some(0.15, () => below(15)) : []),
    failures: new Map(below(3) === 0 ? some(0.1, () => 1).map(([call]) => [call.slice(0, -2), below(2)]) : []),
  };
}
