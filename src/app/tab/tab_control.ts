import { asLeydenError } from "../../core/errors.ts";
import {
  type ExperimentChoice,
  faultWords,
  idleRun,
  isAlive,
  isOver,
  type RunControl,
  type RunFault,
  RunPhaseError,
  type RunStatus,
  type StartRequest,
} from "../../schema/run_control.ts";
import type { Store } from "../../schema/store.ts";
import { pathFrom } from "../config_paths.ts";
import { checkReward } from "../reward/edited_reward.ts";
import type { RunSteering } from "../run_steering.ts";
import { tabChoices, tabExperiment } from "./experiments.ts";
import { leftGateway } from "./left_gateway.ts";
import { cutOffFault, keptChoice, keptConfig, type LeftRun, leftRun } from "./left_run.ts";
import { tabConfig } from "./tab_config.ts";
import type { TabParts } from "./tab_parts.ts";
import { experimentFolder } from "./tab_places.ts";
import { KeptRecord, keptRecord, startedRecord, type TabRecord } from "./tab_record.ts";
import { replacedRun, settleSwap, TabRun, type TabWork, workInTab } from "./tab_run.ts";

/** The runs of a tab, one at a time: started, steered, looked at when they are over, and found again after a reload. */
export class TabControl implements RunControl {
  private readonly parts: TabParts;
  private readonly work: TabWork;
  private readonly told = new Set<() => void>();
  private run: TabRun | null = null;
  /** What is shown while no run is at work. */
  private rest: RunStatus = idleRun;
  private viewed: Store | null = null;
  private readonly record: KeptRecord;
  /** Resolves when what the last run left is shown. */
  private resting: Promise<void> = Promise.resolve();
  /** Resolves when what was asked last of `alone` is done. */
  private turn: Promise<unknown> = Promise.resolve();

  /** `work` is what a run does from its opening to its end. */
  constructor(parts: TabParts, work: TabWork = workInTab) {
    this.parts = parts;
    this.work = work;
    this.record = new KeptRecord(parts.platform.files);
  }

  /** Finds the run of an earlier page and shows it. */
  async open(): Promise<void> {
    const say = (thrown: unknown): void => this.sayFault(asLeydenError(thrown));
    await settleSwap(this.parts).catch(say);
    await replacedRun(this.parts).putBack().catch(say);
    await this.record.read();
    await this.look();
  }

  /**
   * Goes on with a run that was cut off while it was at work; one that waited waits again. A run that was not open yet may be
   * why its page is gone, and would take this one along: it waits for a person, who is told.
   */
  async goOn(): Promise<void> {
    const record = this.record.value;
    if (record === null || !record.isRunning) return;
    const { experiment, overrides, reward, isPaused: paused = false, opening } = record;
    if (opening !== undefined) return this.tellCutOff(experiment, opening);
    // What stands in its way is in the status; an empty reward is the experiment's own.
    await this.start({ experiment, overrides, resume: true, paused, reward }).catch(() => {});
  }

  status(): RunStatus {
    return this.run?.status() ?? this.rest;
  }

  choices(): Promise<readonly ExperimentChoice[]> {
    const { files } = this.parts.platform;
    return tabChoices((experiment) => keptChoice(files, experiment));
  }

  async start(request: StartRequest): Promise<void> {
    const run = await this.alone(() => this.begin(request));
    await run.opened();
    if (run.steering.fault === null) return;
    await this.resting;
    throw asLeydenError(run.steering.fault);
  }

  async pause(): Promise<void> {
    const { steering } = this.current("be paused");
    await Promise.all([steering.pause(), this.noteGate(steering)]);
  }

  async resume(): Promise<void> {
    const { steering } = this.current("go on");
    await Promise.all([steering.resume(), this.noteGate(steering)]);
  }

  async step(): Promise<void> {
    await this.current("take one step").steering.step();
  }

  /** Ends the run; a finished one lets go of its model. */
  async stop(): Promise<void> {
    await this.current("be stopped").close();
    await this.resting;
  }

  onChange(told: () => void): () => void {
    this.told.add(told);
    return () => this.told.delete(told);
  }

  /** Ends everything; a run that was at work goes on after the next opening. */
  async close(): Promise<void> {
    const { run } = this;
    this.run = null;
    await run?.close();
    await this.viewed?.close();
    this.viewed = null;
    await this.record.settled();
  }

  /** The experiment whose run is shown, and what it was started with; null when there is none. */
  get shown(): TabRecord | null {
    return this.record.value;
  }

  /** Takes over a run that was put in an experiment's place. @throws RunPhaseError while one is at work */
  adopt(record: TabRecord, place: () => Promise<void>): Promise<void> {
    return this.alone(async () => {
      this.requireRest("be replaced");
      tabExperiment(record.experiment);
      await this.replace(async () => {
        await place();
        await this.record.keep(record);
      });
    });
  }

  /** Removes the run of an experiment, which need not be the one that is shown. @throws RunPhaseError while it is at work */
  discard(experiment: string, remove: () => Promise<void>): Promise<void> {
    return this.alone(async () => {
      if (this.status().experiment === experiment) this.requireRest("be deleted");
      if (this.shown?.experiment !== experiment) return remove();
      await this.replace(async () => {
        await remove();
        await this.record.drop();
      });
    });
  }

  /** Changes what lies at a model's path. @throws RunPhaseError while a run is at work on it */
  changeModel(path: string, change: () => Promise<void>): Promise<void> {
    return this.alone(async () => {
      if (this.usesModel(path)) this.requireRest("lose its model");
      await change();
    });
  }

  /** True while a run is at work on the model at a path. */
  usesModel(path: string): boolean {
    const { phase, experiment, config } = this.status();
    if (!isAlive(phase) || config === null) return false;
    const { files } = this.parts.platform;
    // As a person may have typed it: with a "/" at its end, or from the experiment's folder.
    return files.absolute(pathFrom(files, experimentFolder(experiment), config.model.path)) === path;
  }

  /** Checks what was asked and opens the run, after everything that was asked before. */
  private async begin(request: StartRequest): Promise<TabRun> {
    this.requireRest("be started");
    const experiment = tabExperiment(request.experiment);
    const { overrides = {}, reward = "", resume = false, paused = false, script = [] } = request;
    const kept = resume ? await keptConfig(this.parts.platform.files, experiment) : null;
    const config = tabConfig(experiment, kept, overrides, reward);
    if (reward !== "") await checkReward(this.parts.platform, reward);
    const before = this.record.value;
    await this.replacing({ experiment, config }, () => this.record.keep(startedRecord(experiment.id, request)));
    const asked = { experiment, config, resume, paused, script };
    const run = new TabRun(this.parts, this, asked, this.work, () => this.noteOpened());
    this.run = run;
    this.follow(run, keptRecord(experiment.id, before));
    return run;
  }

  /** Shows what is kept, and why what was asked for last is not at work. */
  private async tellCutOff(experiment: string, opening: "new" | "kept"): Promise<void> {
    await this.record.keep(keptRecord(experiment, this.record.value));
    this.rest = { ...this.rest, error: this.rest.error ?? cutOffFault(experiment, opening) };
    this.tell();
  }

  private requireRest(asked: string): void {
    const { phase } = this.status();
    if (isAlive(phase)) throw new RunPhaseError(asked, phase, "Stop it first.");
  }

  /** Does what changes runs or their models one after the other: what was checked first holds until it is done. */
  private alone<T>(body: () => Promise<T>): Promise<T> {
    const done = this.turn.then(body, body);
    this.turn = done;
    return done;
  }

  /** Changes what is kept of the run that is shown, and shows what is there then. */
  private async replace(change: () => Promise<void>): Promise<void> {
    await this.replacing({ experiment: null, config: null }, change);
    await this.look();
  }

  /** Lets go of the run that is shown and shows `next` meanwhile; shows what is there again when the change has failed. */
  private async replacing(next: Pick<LeftRun, "experiment" | "config">, change: () => Promise<void>): Promise<void> {
    try {
      await this.release(next);
      await change();
    } catch (thrown) {
      await this.look().catch((fault) => this.sayFault(asLeydenError(fault)));
      throw thrown;
    }
  }

  private current(asked: string): TabRun {
    if (this.run !== null) return this.run;
    throw new RunPhaseError(asked, this.status().phase, "Start one.");
  }

  /** Tells of what happens to a run, and keeps whether it is at work; `kept` comes back when the run cannot open. */
  private follow(run: TabRun, kept: TabRecord): void {
    run.steering.onChange(() => {
      if (this.run !== run) return;
      this.tell();
      const { phase } = run.status();
      if (isOver(phase)) this.noteEnd().catch((thrown) => this.sayFault(asLeydenError(thrown)));
    });
    this.resting = run.closed
      .then(() => this.rested(run, kept))
      .catch((thrown) => this.sayFault(asLeydenError(thrown)));
    this.tell();
  }

  /** What cannot be noted is said: the run is open all the same. */
  private async noteOpened(): Promise<void> {
    await this.record.noteOpened().catch((thrown) => this.sayFault(asLeydenError(thrown)));
  }

  private async noteEnd(): Promise<void> {
    if (this.record.value?.isRunning === true) await this.record.note({ isRunning: false });
  }

  /** Keeps whether a run was asked to wait: from the asking on, since its update may outlast the page. */
  private async noteGate({ gate }: RunSteering): Promise<void> {
    await this.record.note({ isPaused: gate.isShut });
  }

  /** A run is over and closed: what it left is shown. */
  private async rested(run: TabRun, kept: TabRecord): Promise<void> {
    if (this.run !== run) return;
    this.run = null;
    this.rest = run.status();
    const isOther = run.replaced === "returned";
    if (isOther) await this.record.keep(kept);
    await this.look(run.status(), isOther);
  }

  /** Lets go of the last run, and of what was shown of it: its records are closed when nobody is shown them any more. */
  private async release(next: Pick<LeftRun, "experiment" | "config">): Promise<void> {
    const { run } = this;
    this.run = null;
    await run?.close();
    await this.resting;
    await this.parts.use(leftGateway(this.parts, this, { ...next, viewed: null }));
    await this.viewed?.close();
    this.viewed = null;
  }

  /**
   * Serves what the last run left, without a model: the studio shows it, and it can be resumed. `ended` is what has just
   * ended; `isOther`: what is left is not of that, but of the run that it was to replace.
   */
  private async look(ended?: RunStatus, isOther = false): Promise<void> {
    const left = await leftRun(this.parts, this.record.value);
    const { rest, viewed } = left;
    this.viewed = viewed;
    const used = this.parts.use(leftGateway(this.parts, this, left));
    const error = ended?.error ?? null;
    if (ended === undefined || isOther) this.rest = error === null ? rest : { ...rest, phase: "failed", error };
    await used;
    if (ended !== undefined && rest.error !== null && rest.error.message !== error?.message) this.sayFault(rest.error);
    this.tell();
  }

  /** What went wrong beside a run: storage that is full, say. */
  private sayFault(fault: Pick<RunFault, "message" | "do">): void {
    this.parts.say(faultWords(fault));
  }

  private tell(): void {
    for (const told of [...this.told]) told();
  }
}
