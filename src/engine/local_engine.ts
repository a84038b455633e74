import type { Clock } from "../core/clock.ts";
import type { BatchLimits } from "../infer/batch_former.ts";
import {
  afterAction,
  type DeviceAction,
  type DeviceDemand,
  type DeviceHistory,
  type DevicePolicy,
  nextDeviceAction,
  noHistory,
} from "../schedule/device_schedule.ts";
import type {
  AccumulateRequest,
  AccumulateResult,
  Engine,
  EngineInfo,
  EngineSnapshot,
  EngineStats,
  GenerateRequest,
  GenerateResult,
  ScoreRequest,
  ScoreResult,
  UpdateRequest,
  UpdateResult,
} from "../schema/engine.ts";
import type { CriticResult, CriticUpdateRequest, ScoreRowsRequest, ScoreRowsResult } from "../schema/row_scores.ts";
import { closedError } from "./admission.ts";
import { DeviceRecovery } from "./device_recovery.ts";
import { DeviceTimes } from "./device_times.ts";
import type { EngineParts, ModelState } from "./engine_parts.ts";
import { type EngineFault, isLoss, PendingFaults } from "./faults.ts";
import { Generations } from "./generations.ts";
import type { Jobs } from "./jobs.ts";
import { Questions } from "./questions.ts";
import { SavedState } from "./saved_state.ts";
import { Training } from "./training.ts";

/** What a LocalEngine is made of. */
export interface LocalEngineOptions {
  /** Opens the device with the model in a given state, or in its first state when null. */
  open: (state: ModelState | null) => Promise<EngineParts>;
  clock: Clock;
  limits: BatchLimits;
  /** Policy version of the first state. */
  version: number;
  faults: readonly EngineFault[];
  /** Default: updates drain, and a quantum of training waits for one step of inference. */
  policy?: DevicePolicy;
}

const defaultPolicy: DevicePolicy = { inFlight: "drain", stepsPerQuantum: 1 };

/** The engine in this thread: owns the device and performs one action of the schedule after the other. */
export class LocalEngine implements Engine {
  private readonly policy: DevicePolicy;
  private readonly times: DeviceTimes;
  private readonly generations: Generations;
  private readonly training: Training;
  private readonly jobs: Jobs;
  private readonly questions = new Questions();
  private readonly saved = new SavedState();
  private parts: EngineParts;
  private version: number;
  private drained = false;
  private closed = false;
  private readonly closing = new AbortController();
  private history: DeviceHistory = noHistory;
  private readonly recovery: DeviceRecovery;
  /** Why the engine has given up; null while it has not. */
  private fault: unknown = null;
  private wake: () => void = () => {};
  private readonly loop: Promise<void>;

  private constructor(options: LocalEngineOptions, parts: EngineParts) {
    this.policy = options.policy ?? defaultPolicy;
    this.parts = parts;
    this.version = options.version;
    this.times = new DeviceTimes(options.clock);
    this.recovery = new DeviceRecovery({ open: () => this.saved.reopen(options.open), clock: options.clock });
    const shared = { times: this.times, parts: () => this.parts, version: () => this.version };
    this.generations = new Generations({
      ...shared,
      limits: options.limits,
      pageCount: parts.pageCount,
      ready: () => {
        this.admitHeld();
        this.wake();
      },
    });
    const faults = new PendingFaults(options.faults);
    this.training = new Training({ ...shared, clock: options.clock, faults });
    this.jobs = this.generations.jobs;
    this.loop = this.run();
  }

  /** Opens the device and starts. @throws EnvironmentError "no_adapter", FormatError for the model's files */
  static async open(options: LocalEngineOptions): Promise<LocalEngine> {
    return new LocalEngine(options, await options.open(null));
  }

  /** @throws DeviceError "device_lost" when the device is gone for good */
  async info(): Promise<EngineInfo> {
    if (this.fault !== null) throw this.fault;
    return { ...this.parts.info, version: this.version };
  }

  async stats(): Promise<EngineStats> {
    const { counters, sizes } = this.generations;
    return { deviceSeconds: this.times.seconds(), ...counters, deviceLosses: this.recovery.losses, ...sizes };
  }

  async timeline(after: number): ReturnType<NonNullable<Engine["timeline"]>> {
    return this.times.timeline(after);
  }

  async generate(request: GenerateRequest): Promise<GenerateResult> {
    this.requireOpen();
    const result = this.generations.hold(request);
    this.admitHeld();
    this.wake();
    return result;
  }

  score(request: ScoreRequest): Promise<ScoreResult> {
    return this.ask((parts) => this.times.measure("score", () => parts.score(request)));
  }

  scoreRows(request: ScoreRowsRequest): Promise<ScoreRowsResult> {
    return this.ask((parts) => this.times.measure("score", () => parts.scoreRows(request)));
  }

  updateCritic(request: CriticUpdateRequest): Promise<CriticResult> {
    return this.ask((parts) => this.times.measure("train", () => this.saved.updateCritic(parts, request)));
  }

  async accumulate(request: AccumulateRequest): Promise<AccumulateResult> {
    this.requireOpen();
    const result = this.training.accumulate(request);
    this.wake();
    return result;
  }

  async update(request: UpdateRequest): Promise<UpdateResult> {
    this.requireOpen();
    const result = this.training.update(request);
    this.wake();
    return result;
  }

  snapshot(options: { optimizer: boolean }): Promise<EngineSnapshot> {
    return this.ask(async (parts) => ({ ...(await this.saved.read(parts, options)), version: this.version }));
  }

  async drain(): Promise<void> {
    this.requireOpen();
    this.drained = true;
    await this.jobs.drained();
  }

  async resume(): Promise<void> {
    this.drained = false;
    this.admitHeld();
    this.wake();
  }

  async cancel(id: string): Promise<void> {
    this.generations.cancel(id);
    this.wake();
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    this.closing.abort();
    this.wake();
    await this.loop;
    this.failEverything(closedError());
    this.parts.dispose();
  }

  /** Puts a question to the device's models, which it answers in turn. */
  private async ask<Result>(question: (parts: EngineParts) => Promise<Result>): Promise<Result> {
    this.requireOpen();
    const answer = this.questions.ask(question);
    this.wake();
    return answer;
  }

  private requireOpen(): void {
    if (this.closed) throw this.fault ?? closedError();
  }

  private get drains(): boolean {
    return this.policy.inFlight === "drain";
  }

  /** New generations wait while the engine is drained or an update waits for those in flight. */
  private admitHeld(): void {
    if (this.drained || (this.drains && this.training.hasUpdate)) return;
    this.generations.admit();
  }

  private demand(): DeviceDemand {
    const { next } = this.training;
    const update = next === "step" || (this.drains && next === "update");
    return {
      prefill: this.generations.wantsPrefill,
      decode: this.generations.wantsDecode,
      inFlight: this.generations.inFlight,
      train: next !== "nothing" && !update,
      update,
      score: this.questions.areWaiting,
    };
  }

  private async run(): Promise<void> {
    while (!this.closed) {
      const action = nextDeviceAction(this.demand(), this.history, this.policy);
      this.history = afterAction(this.history, action);
      if (action === "idle") {
        await new Promise<void>((resolve) => {
          this.wake = resolve;
        });
        continue;
      }
      try {
        await this.perform(action);
        this.recovery.worked();
      } catch (thrown) {
        await this.recover(thrown, action);
      }
    }
  }

  private async perform(action: Exclude<DeviceAction, "idle">): Promise<void> {
    if (action === "prefill") await this.generations.prefill();
    else if (action === "decode") await this.generations.decode();
    else if (action === "train") await this.training.quantum();
    else if (action === "score") await this.questions.answer(this.parts);
    else await this.training.step((stepped) => this.publish(stepped), this.drains);
    this.admitHeld();
  }

  /** Makes the weights an optimizer step left the policy. Its state lasts first: a loss before that takes the step back. */
  private async publish(stepped: boolean): Promise<number> {
    await this.saved.keep(this.parts);
    if (stepped) this.generations.renew(++this.version, this.policy.inFlight === "keep");
    return this.version;
  }

  /** A lost device is reopened in the last saved state and all work starts over; other faults end the calls. */
  private async recover(thrown: unknown, action: DeviceAction): Promise<void> {
    if (!isLoss(thrown)) {
      if (action === "prefill" || action === "decode") this.generations.failAll(thrown);
      return;
    }
    this.parts.dispose();
    this.generations.startOver(this.version);
    this.training.startOver();
    try {
      this.parts = await this.recovery.reopen(thrown, this.closing.signal);
    } catch (failure) {
      this.fault = failure;
      this.closed = true;
      this.failEverything(failure);
    }
  }

  private failEverything(error: unknown): void {
    this.generations.failAll(error);
    this.training.rejectAll(error);
    this.jobs.rejectHeld(error);
    this.questions.rejectAll(error);
  }
}
