import type { Clock } from "../core/clock.ts";
import type { AccumulateRequest, AccumulateResult, UpdateRequest, UpdateResult } from "../schema/engine.ts";
import type { DeviceTimes } from "./device_times.ts";
import type { EngineParts, Gradients } from "./engine_parts.ts";
import { type EngineFault, isLoss, type PendingFaults } from "./faults.ts";
import type { Job } from "./jobs.ts";
import { PacedWork } from "./paced_work.ts";

/** A gradient pass or an optimizer step that somebody waits for. */
type TrainingJob =
  | ({ readonly kind: "accumulate" } & Job<AccumulateRequest, AccumulateResult>)
  | ({ readonly kind: "update"; readonly atMs: number } & Job<UpdateRequest, UpdateResult>);

/** What training needs of its engine. */
export interface TrainingDeps {
  readonly clock: Clock;
  readonly times: DeviceTimes;
  readonly faults: PendingFaults;
  /** The parts on the device that is open now. */
  parts(): EngineParts;
  version(): number;
}

/** The queue of gradient passes and optimizer steps, served in order; a pass is done quantum by quantum. */
export class Training {
  private readonly deps: TrainingDeps;
  private readonly queue: TrainingJob[] = [];
  /** The pass over the first job's rows, while it is under way. */
  private pass: PacedWork<Gradients> | null = null;
  /** The first job is an update whose rows are done. */
  private gradients: Gradients | null = null;
  /** Rows whose gradients lie on the device for the next step: to be computed again if it is lost. */
  private collected: AccumulateRequest[] = [];
  /** Of `collected`, those to compute again before anything else. */
  private lost: AccumulateRequest[] = [];
  /** Gradients that belong to nothing lie on the device. */
  private mustClear = false;
  private fault: EngineFault["kind"] | undefined;
  private faultTaken = false;
  private updatesDone = 0;

  constructor(deps: TrainingDeps) {
    this.deps = deps;
  }

  accumulate(request: AccumulateRequest): Promise<AccumulateResult> {
    return new Promise((resolve, reject) => this.queue.push({ kind: "accumulate", request, resolve, reject }));
  }

  update(request: UpdateRequest): Promise<UpdateResult> {
    const atMs = this.deps.clock.monotonic();
    return new Promise((resolve, reject) => this.queue.push({ kind: "update", atMs, request, resolve, reject }));
  }

  /** An optimizer step was asked for. */
  get hasUpdate(): boolean {
    return this.queue.some((job) => job.kind === "update");
  }

  /** What comes next: gradients, an optimizer step whose rows are done, an update whose rows are still to be done. */
  get next(): "gradients" | "step" | "update" | "nothing" {
    const [job] = this.queue;
    if (job === undefined) return "nothing";
    if (job.kind === "accumulate" || this.lost.length > 0 || this.pass !== null) return "gradients";
    return this.gradients === null ? "update" : "step";
  }

  /** Does one quantum of the first job's gradients. @throws DeviceError "device_lost" */
  async quantum(): Promise<void> {
    const job = this.queue[0] as TrainingJob;
    try {
      this.begin();
      this.pass ??= new PacedWork((between) => this.compute(job, between));
      const pass = this.pass;
      if (!(await this.deps.times.measure("train", () => pass.advance()))) return;
      this.pass = null;
      this.passed(job, await pass.result);
    } catch (thrown) {
      this.pass = null;
      this.fail(job, thrown);
    }
  }

  /**
   * Takes the first job's optimizer step, with its gradients at one go when they are not done yet; `publish` makes its
   * weights the policy and returns the version. @throws DeviceError "device_lost"
   */
  async step(publish: (stepped: boolean) => Promise<number>, drained: boolean): Promise<void> {
    const job = this.queue[0] as TrainingJob & { kind: "update" };
    const { clock, times, parts } = this.deps;
    const drainMs = drained ? clock.monotonic() - job.atMs : 0;
    try {
      this.begin();
      this.gradients ??= await times.measure("train", () => this.compute(job));
      const { logprobs, trainMs, referenceMs } = this.gradients;
      const result = await times.measure("optimizer", async () => {
        const stepped = await parts().step({ ...job.request, rows: [], accumulated: true });
        return { ...stepped, version: await publish(stepped.skipped === null) };
      });
      this.end(job);
      const ofReference = referenceMs === undefined ? {} : { referenceMs };
      job.resolve({ ...result, logprobs, trainMs: trainMs + result.trainMs, ...ofReference, drainMs });
    } catch (thrown) {
      this.fail(job, thrown);
    }
  }

  /** The device is gone, and with it what was collected on it. */
  startOver(): void {
    this.pass = null;
    this.gradients = null;
    this.lost = [...this.collected];
  }

  /** Rejects everything that waits. */
  rejectAll(error: unknown): void {
    for (const job of this.queue.splice(0)) job.reject(error);
  }

  /** Gradients of the first lost request, or else of the job's own rows. */
  private async compute(job: TrainingJob, between?: () => Promise<void>): Promise<Gradients> {
    const parts = this.deps.parts();
    const again = this.lost[0];
    const fault = this.fault === "nan-grad" ? this.fault : null;
    if (fault !== null) this.fault = undefined;
    // What an earlier step left unused is none of this one's, nor is what a failed pass left half done.
    const isFirst = again === undefined ? job.kind === "update" && job.request.accumulated !== true : this.mustClear;
    if (isFirst) parts.clearGradients(this.mustClear ? null : job.request.adapter);
    this.mustClear = false;
    return parts.accumulate(again ?? job.request, { fault, ...(between === undefined ? {} : { between }) });
  }

  private passed(job: TrainingJob, gradients: Gradients): void {
    if (this.lost.length > 0) {
      this.lost.shift();
    } else if (job.kind === "update") {
      this.gradients = gradients;
    } else {
      this.collected.push(job.request);
      this.end(job);
      job.resolve({ ...gradients, version: this.deps.version() });
    }
  }

  /** Takes the fault that is asked for at this update, once, when its first work begins. */
  private begin(): void {
    if (this.faultTaken) return;
    this.faultTaken = true;
    this.fault = this.deps.faults.take(this.updatesDone + 1);
    if (this.fault === "device-lost") this.deps.parts().loseDevice();
  }

  /** A lost device is the engine's to replace, after which the job is done again; else the job has failed. */
  private fail(job: TrainingJob, thrown: unknown): void {
    if (isLoss(thrown)) throw thrown;
    this.end(job);
    if (job.kind === "accumulate") {
      // The pass may have added some of its gradients: those of the others are computed anew.
      this.lost = [...this.collected];
      this.mustClear = true;
    }
    job.reject(thrown);
  }

  private end(job: TrainingJob): void {
    this.queue.shift();
    this.gradients = null;
    if (job.kind === "accumulate") return;
    this.collected = this.collected.filter(({ adapter }) => adapter !== job.request.adapter);
    this.updatesDone++;
    this.faultTaken = false;
  }
}
