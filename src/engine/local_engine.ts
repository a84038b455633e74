import type { Clock } from "../core/clock.ts";
import { BatchFormer, type BatchLimits } from "../infer/batch_former.ts";
import { BlockPool } from "../infer/block_pool.ts";
import type { Drawn } from "../infer/runner.ts";
import type { Sequence } from "../infer/sequence.ts";
import { type DeviceAction, nextDeviceAction } from "../schedule/device_schedule.ts";
import type {
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
import { checkGenerate, closedError, duplicateRequest } from "./admission.ts";
import { appendDrawn } from "./append_drawn.ts";
import { DeviceTimes } from "./device_times.ts";
import { type EngineParts, type ModelState, stateFor } from "./engine_parts.ts";
import { type EngineFault, isLoss, PendingFaults } from "./faults.ts";
import { emptyResult, type Job, Jobs } from "./jobs.ts";

/** What a LocalEngine is made of. */
export interface LocalEngineOptions {
  /** Opens the device with the model in a given state, or in its first state when null. */
  open: (state: ModelState | null) => Promise<EngineParts>;
  clock: Clock;
  limits: BatchLimits;
  /** Policy version of the first state. */
  version: number;
  faults: readonly EngineFault[];
}

/** Device losses in a row, without one finished action between them, after which the engine gives up. */
const maxLossesInARow = 3;

/** The engine in this thread: owns the device and performs one action of the schedule after the other. */
export class LocalEngine implements Engine {
  private readonly options: LocalEngineOptions;
  private readonly times: DeviceTimes;
  private readonly former: BatchFormer;
  private readonly pool: BlockPool;
  private parts: EngineParts;
  /** State after the last update: what a fresh device starts from. */
  private committed: ModelState | null = null;
  private version: number;
  private updatesDone = 0;
  private readonly faults: PendingFaults;
  private readonly jobs = new Jobs();
  private drained = false;
  private closed = false;
  private last: DeviceAction = "idle";
  private lossesInARow = 0;
  private wake: () => void = () => {};
  private readonly counters = { promptTokens: 0, cachedTokens: 0, sampledTokens: 0, decodeSteps: 0, deviceLosses: 0 };
  private readonly loop: Promise<void>;

  private constructor(options: LocalEngineOptions, parts: EngineParts) {
    this.options = options;
    this.parts = parts;
    this.version = options.version;
    this.faults = new PendingFaults(options.faults);
    this.times = new DeviceTimes(options.clock);
    this.pool = new BlockPool(parts.pageCount);
    this.former = new BatchFormer(this.pool, options.limits);
    this.loop = this.run();
  }

  /** Opens the device and starts. @throws EnvironmentError "no_adapter", FormatError for the model's files */
  static async open(options: LocalEngineOptions): Promise<LocalEngine> {
    return new LocalEngine(options, await options.open(null));
  }

  async info(): Promise<EngineInfo> {
    return { ...this.parts.info, version: this.version };
  }

  async stats(): Promise<EngineStats> {
    const { active, queued } = this.former;
    return {
      deviceSeconds: this.times.seconds(),
      ...this.counters,
      activeSequences: active,
      queuedSequences: queued + this.jobs.held.length,
    };
  }

  async generate(request: GenerateRequest): Promise<GenerateResult> {
    this.requireOpen();
    checkGenerate(request, this.parts.info);
    if (this.jobs.has(request.id)) throw duplicateRequest(request.id);
    return new Promise((resolve, reject) => {
      this.jobs.held.push({ request, resolve, reject });
      this.admitHeld();
      this.wake();
    });
  }

  score(request: ScoreRequest): Promise<ScoreResult> {
    return this.enqueue(this.jobs.scores, request);
  }

  update(request: UpdateRequest): Promise<UpdateResult> {
    return this.enqueue(this.jobs.updates, request);
  }

  snapshot(options: { optimizer: boolean }): Promise<EngineSnapshot> {
    return this.enqueue(this.jobs.snapshots, options);
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
    const held = this.jobs.takeHeld(id);
    held?.resolve(emptyResult(held.request));
    const sequence = this.former.find(id);
    if (sequence !== undefined) this.finish(sequence, sequence.result("cancelled", sequence.sampled));
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    this.wake();
    await this.loop;
    this.failEverything(closedError());
    this.parts.dispose();
  }

  private enqueue<Request, Result>(queue: Job<Request, Result>[], request: Request): Promise<Result> {
    this.requireOpen();
    return new Promise((resolve, reject) => {
      queue.push({ request, resolve, reject });
      this.wake();
    });
  }

  private requireOpen(): void {
    if (this.closed) throw closedError();
  }

  /** New generations wait while the engine is drained or an update is due. */
  private admitHeld(): void {
    if (this.drained || this.jobs.updates.length > 0) return;
    for (const { request, resolve, reject } of this.jobs.held.splice(0)) {
      const sequence = this.former.add(request, this.parts.info.contextLength);
      this.jobs.generations.set(request.id, { request: sequence, resolve, reject });
    }
  }

  private async run(): Promise<void> {
    while (!this.closed) {
      const action = nextDeviceAction({
        prefill: this.former.wantsPrefill,
        decode: this.former.wantsDecode,
        inFlight: this.jobs.generations.size,
        update: this.jobs.updates.length > 0,
        score: this.jobs.scores.length > 0 || this.jobs.snapshots.length > 0,
        held: this.drained,
        last: this.last,
      });
      this.last = action;
      if (action === "idle") {
        await new Promise<void>((resolve) => {
          this.wake = resolve;
        });
        continue;
      }
      try {
        await this.perform(action);
        this.lossesInARow = 0;
      } catch (thrown) {
        await this.recover(thrown, action);
      }
    }
  }

  private async perform(action: Exclude<DeviceAction, "idle">): Promise<void> {
    if (action === "prefill") await this.prefill();
    else if (action === "decode") await this.decode();
    else if (action === "update") await this.takeUpdate();
    else await this.answer();
  }

  private async prefill(): Promise<void> {
    const parts = this.former.formPrefill();
    const drawn = await this.times.measure("prefill", () => this.parts.prefill(parts));
    for (const [i, { sequence, from, to }] of parts.entries()) {
      this.counters.promptTokens += to - from;
      if (!this.jobs.isHere(sequence)) continue;
      this.former.advance(sequence, to);
      this.take(sequence, drawn[i] as Drawn);
    }
  }

  private async decode(): Promise<void> {
    const work = this.former.formDecode();
    if (work === null) return;
    const drawn = await this.times.measure("decode", () => this.parts.decode(work));
    this.counters.decodeSteps += work.steps;
    for (const [i, sequence] of work.sequences.entries()) {
      if (this.jobs.isHere(sequence)) this.take(sequence, drawn[i] as Drawn);
    }
  }

  private take(sequence: Sequence, drawn: Drawn): void {
    const before = sequence.sampled;
    const result = appendDrawn(sequence, drawn, this.version, this.parts.decodeText);
    this.counters.sampledTokens += sequence.sampled - before;
    if (drawn.ids.length > 0) this.former.advance(sequence, Math.max(sequence.computed, sequence.length - 1));
    if (drawn.error !== undefined) this.finish(sequence, null, drawn.error);
    else if (result !== null) this.finish(sequence, result);
  }

  private async takeUpdate(): Promise<void> {
    const job = this.jobs.updates[0] as Job<UpdateRequest, UpdateResult>;
    const fault = this.faults.take(this.updatesDone + 1);
    const versionBefore = this.version;
    if (fault === "device-lost") this.parts.loseDevice();
    try {
      const step = () => this.parts.update(job.request, fault === "nan-grad" ? fault : null);
      const result = await this.times.measure("train", step);
      if (result.skipped === null) this.version++;
      this.pool.clearCache();
      this.committed = await this.parts.snapshot({ optimizer: true });
      job.resolve({ ...result, version: this.version });
    } catch (thrown) {
      // A step that was taken is lost with the device, and taken again from the state before it.
      if (isLoss(thrown)) this.version = versionBefore;
      if (isLoss(thrown)) throw thrown;
      job.reject(thrown);
    }
    this.jobs.updates.shift();
    this.updatesDone++;
    this.admitHeld();
  }

  private async answer(): Promise<void> {
    const score = this.jobs.scores[0];
    const snapshot = this.jobs.snapshots[0];
    try {
      if (score !== undefined) score.resolve(await this.parts.score(score.request));
      else if (snapshot !== undefined) {
        const state = this.committed ?? (await this.parts.snapshot(snapshot.request));
        snapshot.resolve({ ...stateFor(snapshot.request, state), version: this.version });
      }
    } catch (thrown) {
      if (isLoss(thrown)) throw thrown;
      (score ?? snapshot)?.reject(thrown);
    }
    (score === undefined ? this.jobs.snapshots : this.jobs.scores).shift();
  }

  /** A lost device is reopened from the last committed state and all work starts over; other faults end the calls. */
  private async recover(thrown: unknown, action: DeviceAction): Promise<void> {
    if (!isLoss(thrown)) {
      const failed = action === "prefill" || action === "decode" ? [...this.jobs.generations.values()] : [];
      for (const job of failed) this.finish(job.request, null, thrown);
      return;
    }
    this.counters.deviceLosses++;
    if (++this.lossesInARow > maxLossesInARow) {
      this.closed = true;
      this.failEverything(thrown);
      return;
    }
    this.parts.dispose();
    this.former.requeueAll();
    this.pool.clearCache();
    try {
      this.parts = await this.options.open(this.committed);
    } catch (failure) {
      this.closed = true;
      this.failEverything(failure);
    }
  }

  private finish(sequence: Sequence, result: GenerateResult | null, error?: unknown): void {
    this.former.remove(sequence);
    this.counters.cachedTokens += sequence.cachedTokens;
    this.jobs.end(sequence, result, error);
  }

  private failEverything(error: unknown): void {
    for (const job of [...this.jobs.generations.values()]) this.finish(job.request, null, error);
    this.jobs.rejectQueued(error);
  }
}
