import type { Clock } from "../core/clock.ts";
import type { GroupRecord } from "../rl/batch/batch_input.ts";
import { agreementMetrics, logprobAgreement } from "../rl/batch/logprob_agreement.ts";
import type { DeviceTime, Engine } from "../schema/engine.ts";
import type { MetricsLine } from "./run_folder.ts";
import { stepMetrics, type TakenUpdate, type UpdateHost } from "./take_update.ts";
import { deviceTimeSince } from "./update_step.ts";
import { timeMetrics, timePerToken } from "./update_times.ts";

/** An update that was taken. */
export interface MeasuredUpdate {
  /** Its number, from 1. */
  readonly number: number;
  readonly groups: readonly GroupRecord[];
  readonly taken: TakenUpdate;
  /** Version of the weights before its first step. */
  readonly trained: number;
  readonly learningRate: number;
}

/** A moment by both clocks, in milliseconds. */
interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

/**
 * Measures one update from its first rollout to its last optimizer step. What comes after it, as validation and
 * checkpoints, is no part of it.
 */
export class UpdateMeter {
  private readonly engine: Engine;
  private readonly clock: Clock;
  private readonly device: DeviceTime;
  private readonly start: Moment;
  private rolloutsEnd: Moment;

  private constructor({ engine, clock }: UpdateHost, device: DeviceTime) {
    this.engine = engine;
    this.clock = clock;
    this.device = device;
    this.start = this.moment();
    this.rolloutsEnd = this.start;
  }

  /** An update begins now. */
  static async start(host: UpdateHost): Promise<UpdateMeter> {
    return new UpdateMeter(host, (await host.engine.stats()).deviceSeconds);
  }

  /** The update has its groups. */
  rolloutsEnded(): void {
    this.rolloutsEnd = this.moment();
  }

  /** Its last step is taken: its line of metrics.jsonl, under verl's and Agent Lightning's names. */
  async line({ number, groups, taken, trained, learningRate }: MeasuredUpdate): Promise<MetricsLine> {
    const end = this.moment();
    const device = deviceTimeSince((await this.engine.stats()).deviceSeconds, this.device);
    const { version } = await this.engine.info();
    const agreement = logprobAgreement(taken.recorded, taken.logprobs, trained, groups);
    return {
      step: number,
      time: end.wall / 1000,
      version,
      ...taken.batch.metrics,
      ...agreementMetrics(agreement),
      ...stepMetrics(taken),
      "actor/lr": learningRate,
      ...Object.fromEntries(Object.entries(device).map(([kind, seconds]) => [`device/${kind}_s`, seconds])),
      ...this.times(taken, end),
    };
  }

  private times({ times, tokens }: TakenUpdate, end: Moment): Record<string, number> {
    const { start, rolloutsEnd } = this;
    const genMs = rolloutsEnd.monotonic - start.monotonic;
    const seconds = (end.monotonic - start.monotonic) / 1000;
    return {
      "timing/step_start_wall": start.wall / 1000,
      "timing/rollout_phase_end_wall": rolloutsEnd.wall / 1000,
      "timing_s/gen": genMs / 1000,
      ...timeMetrics(times),
      "timing_s/step": seconds,
      ...timePerToken(genMs, times, tokens),
      "perf/time_per_step": seconds,
      // Prompts and what follows them, whatever of it training computes: that is training/n_tokens_computed.
      "perf/total_num_tokens": tokens.total,
      "perf/throughput": seconds > 0 ? tokens.total / seconds : 0,
    };
  }

  private moment(): Moment {
    return { monotonic: this.clock.monotonic(), wall: this.clock.now() };
  }
}
