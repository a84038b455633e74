import { asLeydenError, CancelledError } from "../core/errors.ts";
import type { LoopReporter } from "../experiment/loop.ts";
import { RunGate } from "../experiment/run_gate.ts";
import type { ExperimentConfig } from "../schema/experiment.ts";
import {
  type ExperimentChoice,
  isAlive,
  isStoppable,
  type RunControl,
  type RunPhase,
  RunPhaseError,
  type RunStatus,
} from "../schema/run_control.ts";
import type { Startup } from "../schema/startup.ts";
import { watchUpdates } from "./watch_updates.ts";

/** What a steered run is known by. */
export interface SteeredRun {
  readonly runtime: RunStatus["runtime"];
  /** Id of the experiment, or the configuration's folder. */
  readonly experiment: string;
  readonly config: ExperimentConfig;
  /** True: the first update waits. Default false. */
  readonly paused?: boolean;
}

/** True between a run's opening and its end: it can wait and go on. */
const isOpen = (phase: RunPhase): boolean => phase === "running" || phase === "paused";

/** One run as people steer it and as its host reports it. */
export class RunSteering implements RunControl {
  /** Given to the loop. */
  readonly gate: RunGate;
  /** What the run failed of; null while it has not. */
  fault: unknown = null;
  /** True once somebody has waited for news of it. */
  wasWatched = false;
  private readonly stopping = new AbortController();
  private readonly told = new Set<() => void>();
  private current: RunStatus;
  private ended: () => void = () => {};
  private readonly end: Promise<void>;

  constructor({ runtime, experiment, config, paused = false }: SteeredRun) {
    this.gate = new RunGate(!paused);
    this.current = {
      phase: "opening",
      experiment,
      update: 0,
      updates: config.train.updates,
      version: 0,
      modelOpen: false,
      config,
      adapter: "",
      runtime,
      startup: null,
      error: null,
    };
    this.end = new Promise((resolve) => {
      this.ended = resolve;
    });
  }

  /** Fires when the run shall stop. */
  get signal(): AbortSignal {
    return this.stopping.signal;
  }

  status(): RunStatus {
    return this.current;
  }

  async choices(): Promise<readonly ExperimentChoice[]> {
    return [];
  }

  async pause(): Promise<void> {
    this.require(isOpen(this.current.phase), "be paused", "Pause it while it is running.");
    await this.gate.pause();
    this.settle("paused");
  }

  async resume(): Promise<void> {
    this.require(isOpen(this.current.phase), "go on", "Start it, or start it again with resume.");
    this.gate.resume();
    this.settle("running");
  }

  async step(): Promise<void> {
    this.require(this.current.phase === "paused", "take one step", "Pause it first.");
    this.settle("running");
    await this.gate.step();
    this.settle("paused");
  }

  async stop(): Promise<void> {
    this.require(isAlive(this.current.phase), "be stopped", "It has ended already.");
    this.change({ phase: "stopping", modelOpen: false });
    this.stopping.abort();
    await this.end;
  }

  onChange(told: () => void): () => void {
    this.wasWatched = true;
    this.told.add(told);
    return () => this.told.delete(told);
  }

  /** The host's side: everything is open, after `update` updates of an earlier start, which made `version` of the policy. */
  opened(adapter: string, update: number, version: number): void {
    this.change({ adapter, update, version, modelOpen: !this.stopping.signal.aborted });
    this.settle(this.gate.isShut ? "paused" : "running");
  }

  /** The host's side: where the time to the first update went. */
  started(startup: Startup): void {
    this.change({ startup });
  }

  /** The host's side: the loop has ended, by itself, by `stop` or the host's own signal, or by an error. */
  finished(fault: unknown = null): void {
    const isStopped = this.stopping.signal.aborted || fault instanceof CancelledError;
    this.fault = isStopped ? null : fault;
    const error = this.fault === null ? null : asLeydenError(this.fault).toJSON();
    this.change({ phase: error !== null ? "failed" : isStopped ? "stopped" : "finished", error });
    this.gate.end();
    this.ended();
  }

  /** The host's side: the model answers no more. */
  released(): void {
    if (this.current.modelOpen) this.change({ modelOpen: false });
  }

  /** The reporter, with its updates counted here. */
  watch(reporter: LoopReporter): LoopReporter {
    return watchUpdates(reporter, ({ step, version }) => {
      const { current } = this;
      this.change({ update: Number(step ?? current.update), version: Number(version ?? current.version) });
    });
  }

  /** The phase after something that may have been overtaken by the run's end. */
  private settle(phase: RunPhase): void {
    if (isStoppable(this.current.phase)) this.change({ phase });
  }

  private change(part: Partial<RunStatus>): void {
    this.current = { ...this.current, ...part };
    for (const told of [...this.told]) told();
  }

  /** @throws RunPhaseError when what is asked does not fit the phase */
  private require(fits: boolean, asked: string, advice: string): void {
    if (!fits) throw new RunPhaseError(asked, this.current.phase, advice);
  }
}
