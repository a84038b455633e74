import { createApp } from "../../../gateway/app.ts";
import { asLeydenError, FormatError } from "../../core/errors.ts";
import { freshRunState, RunFolder } from "../../experiment/run_folder.ts";
import type { ExperimentConfig } from "../../schema/experiment.ts";
import {
  type ExperimentChoice,
  idleRun,
  isAlive,
  type RunControl,
  RunPhaseError,
  type RunStatus,
  type StartRequest,
} from "../../schema/run_control.ts";
import type { Store } from "../../schema/store.ts";
import { MemoryStore } from "../../store/memory_store.ts";
import { EditedReward } from "../reward/edited_reward.ts";
import type { RunSteering } from "../run_steering.ts";
import { type TabExperiment, tabChoices, tabExperiment } from "./experiments.ts";
import { tabConfig } from "./tab_config.ts";
import { runFolderOf, storePathOf } from "./tab_places.ts";
import { KeptRecord, type TabRecord } from "./tab_record.ts";
import { runParts, type TabParts, TabRun, type TabWork, workInTab } from "./tab_run.ts";
import { openTabStore } from "./tab_run_host.ts";

/** What is there of the last run when none is at work. */
interface LeftRun {
  readonly experiment: TabExperiment | null;
  readonly config: ExperimentConfig | null;
  readonly viewed: Store | null;
  readonly rest: RunStatus;
}

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

  /** `work` is what a run does from its opening to its end. */
  constructor(parts: TabParts, work: TabWork = workInTab) {
    this.parts = parts;
    this.work = work;
    this.record = new KeptRecord(parts.platform.files);
  }

  /** Finds the run of an earlier page and shows it. */
  async open(): Promise<void> {
    await this.record.read();
    await this.look();
  }

  /** Goes on with a run that was cut off while it was at work; one that waited waits again. */
  async goOn(): Promise<void> {
    const record = this.record.value;
    if (record === null || !record.isRunning) return;
    const { experiment, overrides, reward, isPaused = false } = record;
    const given = reward === "" ? {} : { reward };
    // What stands in its way is in the status.
    await this.start({ experiment, overrides, resume: true, paused: isPaused, ...given }).catch(() => {});
  }

  status(): RunStatus {
    return this.run?.status() ?? this.rest;
  }

  choices(): Promise<readonly ExperimentChoice[]> {
    const { files } = this.parts.platform;
    return tabChoices((id) => new RunFolder(files, runFolderOf(id)).exists());
  }

  async start(request: StartRequest): Promise<void> {
    const { phase } = this.status();
    if (isAlive(phase)) throw new RunPhaseError("be started", phase, "Stop it first.");
    const experiment = tabExperiment(request.experiment);
    const { overrides = {}, reward = "", resume = false, paused = false, script = [] } = request;
    const kept = resume ? await this.keptConfig(experiment) : null;
    const config = tabConfig(experiment, kept, overrides, reward);
    if (reward !== "") await this.checkReward(reward);
    await this.release();
    const record = { experiment: experiment.id, overrides, reward, isRunning: script.length === 0 };
    await this.record.keep({ format: 1, ...record, ...(paused ? { isPaused: true } : {}) });
    const run = new TabRun(this.parts, this, { experiment, config, resume, paused, script }, this.work);
    this.run = run;
    this.follow(run);
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
    const run = this.current("be stopped");
    await run.close();
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

  /** Takes over a run that was put in an experiment's place. */
  async adopt(record: TabRecord, place: () => Promise<void>): Promise<void> {
    const { phase } = this.status();
    if (isAlive(phase)) throw new RunPhaseError("be replaced", phase, "Stop it first.");
    tabExperiment(record.experiment);
    await this.replace(async () => {
      await place();
      await this.record.keep(record);
    });
  }

  /** Removes the run of an experiment, which need not be the one that is shown. */
  async discard(experiment: string, remove: () => Promise<void>): Promise<void> {
    if (this.shown?.experiment !== experiment) return remove();
    const { phase } = this.status();
    if (isAlive(phase)) throw new RunPhaseError("be deleted", phase, "Stop it first.");
    await this.replace(async () => {
      await remove();
      await this.record.drop();
    });
  }

  /** Changes what is kept of the run that is shown, and shows what is there then, also when that has failed. */
  private async replace(change: () => Promise<void>): Promise<void> {
    await this.release();
    try {
      await change();
    } finally {
      await this.look();
    }
  }

  private current(asked: string): TabRun {
    if (this.run !== null) return this.run;
    throw new RunPhaseError(asked, this.status().phase, "Start one.");
  }

  /** Tells of what happens to a run, and keeps whether it is still at work. */
  private follow(run: TabRun): void {
    run.steering.onChange(() => {
      if (this.run !== run) return;
      this.tell();
      const { phase } = run.status();
      if (phase === "finished" || phase === "failed" || phase === "stopped")
        this.noteEnd().catch((thrown) => this.sayFault(thrown));
    });
    this.resting = run.closed.then(() => this.rested(run)).catch((thrown) => this.sayFault(thrown));
    this.tell();
  }

  private async noteEnd(): Promise<void> {
    if (this.record.value?.isRunning === true) await this.record.note({ isRunning: false });
  }

  /** Keeps whether a run was asked to wait: from the asking on, since its update may outlast the page. */
  private async noteGate({ gate }: RunSteering): Promise<void> {
    await this.record.note({ isPaused: gate.isShut });
  }

  /** A run is over and closed: what it left is shown. */
  private async rested(run: TabRun): Promise<void> {
    if (this.run !== run) return;
    this.run = null;
    this.rest = run.status();
    await this.look(run.status());
  }

  /** Lets go of the last run, and of what was shown of it. */
  private async release(): Promise<void> {
    const { run } = this;
    this.run = null;
    await run?.close();
    await this.resting;
    await this.viewed?.close();
    this.viewed = null;
  }

  private async checkReward(source: string): Promise<void> {
    const reward = new EditedReward(this.parts.platform);
    try {
      await reward.check(source);
    } finally {
      reward.end();
    }
  }

  private async keptConfig({ id }: TabExperiment): Promise<ExperimentConfig | null> {
    const { files } = this.parts.platform;
    const path = new RunFolder(files, runFolderOf(id)).at("config.json");
    if (!(await files.exists(path))) return null;
    try {
      return JSON.parse(await files.readText(path)) as ExperimentConfig;
    } catch (cause) {
      const fix = { do: "Delete the run in the section Model, or start a new one.", cause };
      throw new FormatError("run_config", `The configuration of the run of ${id} cannot be read.`, fix);
    }
  }

  /** Serves what the last run left, without a model: the studio shows it, and it can be resumed. */
  private async look(status?: RunStatus): Promise<void> {
    const { parts } = this;
    const { platform, key, page, say } = parts;
    const { experiment, config, viewed, rest } = await this.leftRun();
    this.viewed = viewed;
    const shown = experiment === null || config === null ? null : runParts(parts, this, experiment, config);
    const store = viewed ?? new MemoryStore();
    const { clock, entropy } = platform;
    const report = (fault: unknown): void => say(`gateway: ${asLeydenError(fault).message}`);
    const view = shown === null ? { control: this, page } : shown(store);
    parts.use(createApp({ store, model: null, clock, entropy, config: { key }, report, ...view }));
    if (status === undefined) this.rest = rest;
    this.tell();
  }

  /** What the last run left; of one that cannot be read only why, so that the page opens and it can be deleted there. */
  private async leftRun(): Promise<LeftRun> {
    const nothing = { experiment: null, config: null, viewed: null, rest: idleRun };
    const record = this.record.value;
    if (record === null) return nothing;
    const { platform, sqlite } = this.parts;
    try {
      const experiment = tabExperiment(record.experiment);
      const config = await this.keptConfig(experiment);
      const rest = await this.restOf(experiment, config);
      const path = storePathOf(experiment.id);
      const viewed = sqlite.exists(path) ? await openTabStore(platform, sqlite, path) : null;
      return { experiment, config, viewed, rest };
    } catch (thrown) {
      const error = asLeydenError(thrown).toJSON();
      return { ...nothing, rest: { ...idleRun, phase: "failed", experiment: record.experiment, error } };
    }
  }

  private async restOf(experiment: TabExperiment, config: ExperimentConfig | null): Promise<RunStatus> {
    if (config === null) return idleRun;
    const folder = new RunFolder(this.parts.platform.files, runFolderOf(experiment.id));
    const { update, version } = (await folder.latestCheckpoint())?.state ?? freshRunState;
    const { updates } = config.train;
    return {
      ...idleRun,
      phase: update >= updates ? "finished" : "stopped",
      experiment: experiment.id,
      update,
      updates,
      version,
      config,
    };
  }

  /** What went wrong beside a run: storage that is full, say. */
  private sayFault(thrown: unknown): void {
    const { message, do: advice } = asLeydenError(thrown);
    this.parts.say(`${message} ${advice}`.trim());
  }

  private tell(): void {
    for (const told of [...this.told]) told();
  }
}
