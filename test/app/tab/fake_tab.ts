/** A tab whose runs open no model and start no agents: an update is a checkpoint. Pages come and go over the same files. */
import { type ServedApp, ServedGateway } from "../../../src/app/tab/served_gateway.ts";
import { TabControl } from "../../../src/app/tab/tab_control.ts";
import type { TabParts } from "../../../src/app/tab/tab_parts.ts";
import { runFolderOf } from "../../../src/app/tab/tab_places.ts";
import type { TabRecord } from "../../../src/app/tab/tab_record.ts";
import type { TabWork } from "../../../src/app/tab/tab_run.ts";
import type { LoopReporter } from "../../../src/experiment/loop.ts";
import { freshRunState, RunFolder } from "../../../src/experiment/run_folder.ts";
import { systemClock, systemEntropy } from "../../../src/platform/clock.ts";
import { memoryFiles } from "../../../src/platform/memory_files.ts";
import { nodeSqlite } from "../../../src/platform/node_sqlite.ts";
import type { Files } from "../../../src/schema/files.ts";
import type { RunPhase } from "../../../src/schema/run_control.ts";

const silent: LoopReporter = { rollouts() {}, failures() {}, update() {}, validation() {} };
const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

export class FakeTab {
  readonly files: Files = memoryFiles();
  /** What the next run fails of instead of opening; null: it opens. */
  fault: unknown = null;
  /** Why the records of a run cannot be opened; null: there are none. */
  storeFault: unknown = null;
  /** Why no gateway can be put to use; null: one can. */
  useFault: unknown = null;
  /** True: runs have records, which are empty. */
  hasRecords = false;
  /** What was said to people. */
  readonly said: string[] = [];
  private control: TabControl | null = null;
  private served = new ServedGateway(systemClock);
  private opening: PromiseWithResolvers<void> | null = null;
  private held: PromiseWithResolvers<void> | null = null;

  /** A new page; the one before is gone, whatever it was at. */
  async open(): Promise<{ control: TabControl }> {
    this.served = new ServedGateway(systemClock);
    const control = new TabControl(this.parts(this.served), this.work);
    this.control = control;
    await control.open();
    return { control };
  }

  /** Asks the page's gateway, as the studio does. */
  ask(path: string, body?: unknown): Promise<Response> {
    const headers = { authorization: "Bearer key", "content-type": "application/json" };
    const init = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
    return this.served.fetch(new Request(`https://gateway.invalid/studio/api/${path}`, init));
  }

  /** Runs do not get past their opening until the returned function is called; those of a page that has gone never do. */
  holdOpening(): () => void {
    const held = Promise.withResolvers<void>();
    this.opening = held;
    return () => {
      this.opening = null;
      held.resolve();
    };
  }

  /** Later runs open at once. */
  letRunsOpen(): void {
    this.opening = null;
  }

  /** Updates that have begun do not end. */
  holdUpdates(): void {
    this.held = Promise.withResolvers();
  }

  /** Updates of later runs end; those that were held never do, as their page is gone. */
  letUpdatesPass(): void {
    this.held = null;
  }

  /** Puts a run with a checkpoint in an experiment's place. */
  async putRun(experiment: string, update: number): Promise<void> {
    const folder = new RunFolder(this.files, runFolderOf(experiment));
    const choice = (await this.control?.choices())?.find(({ id }) => id === experiment);
    if (choice === undefined) throw new Error(`There is no experiment ${experiment}.`);
    await folder.writeConfig(choice.config);
    await folder.writeCheckpoint({ ...freshRunState, update, version: update, configSha256: "" }, {});
  }

  /** Resolves when the run is in a phase. */
  until(phase: RunPhase): Promise<void> {
    return this.reaches((reached) => reached === phase);
  }

  /** Resolves when the run waits or is over. */
  settled(): Promise<void> {
    return this.reaches((phase) => phase !== "opening" && phase !== "running" && phase !== "stopping");
  }

  /** Resolves when everything that was asked to be written is. */
  written(): Promise<void> {
    return turn();
  }

  async record(): Promise<TabRecord> {
    return JSON.parse(await this.files.readText("/tab.json")) as TabRecord;
  }

  private reaches(isThere: (phase: RunPhase) => boolean): Promise<void> {
    const { control } = this;
    if (control === null) throw new Error("No page is open.");
    return new Promise((resolve) => {
      const look = (): void => {
        if (!isThere(control.status().phase)) return;
        stop();
        resolve();
      };
      const stop = control.onChange(look);
      look();
    });
  }

  private readonly work: TabWork = async (
    _parts,
    _control,
    { experiment, config, resume },
    { steering, lingers, stands },
  ) => {
    const { fault } = this;
    this.fault = null;
    const folder = new RunFolder(this.files, runFolderOf(experiment.id));
    try {
      if (fault !== null || this.opening !== null) await this.files.write(folder.at("half"), "of it");
      await this.opening?.promise;
      if (fault !== null) throw fault;
      if (!resume && (await folder.exists())) throw new Error("Another run is in its place.");
      await folder.writeConfig(config);
      await stands();
      let { update } = (await folder.latestCheckpoint())?.state ?? freshRunState;
      steering.opened("none", update, update);
      while (update < config.train.updates) {
        await steering.gate.pass(steering.signal);
        await this.held?.promise;
        await turn();
        update += 1;
        await folder.writeCheckpoint({ ...freshRunState, update, version: update, configSha256: "" }, {});
        steering.watch(silent).update({ step: update, version: update });
      }
      steering.finished();
      await lingers;
    } catch (thrown) {
      steering.finished(thrown);
      throw thrown;
    } finally {
      steering.released();
    }
  };

  private parts(served: ServedGateway): TabParts {
    const sqlite = {
      ...nodeSqlite,
      exists: (path: string) => (this.hasRecords || this.storeFault !== null) && path.startsWith("/runs/"),
      exportFile: () => new Uint8Array(),
      importFile: async () => {},
      remove() {},
      reserve: async () => {
        if (this.storeFault !== null) throw this.storeFault;
      },
      open: () => nodeSqlite.open(":memory:"),
    };
    const use = async (app: ServedApp): Promise<void> => {
      if (this.useFault !== null) throw this.useFault;
      await served.use(app);
    };
    const say = (line: string): void => void this.said.push(line);
    const platform = { files: this.files, clock: systemClock, entropy: systemEntropy };
    const parts: Partial<Record<keyof TabParts, unknown>> = {
      ...{ platform, sqlite, agents: "fetch", gatewayUrl: null, key: "key", use, say },
      ...{ assets: { kind: "embedded", files: {} }, page: { get: async () => null }, scriptAt: () => "" },
    };
    return parts as unknown as TabParts;
  }
}
