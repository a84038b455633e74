import type { GatewayApp } from "../../../gateway/app.ts";
import type { GatewayDeps } from "../../../gateway/deps.ts";
import type { LoopReporter } from "../../experiment/loop.ts";
import { RunView } from "../../experiment/run_view.ts";
import type { BrowserSqlite } from "../../platform/wasm_sqlite.ts";
import type { AgentStart } from "../../schema/agent_worker.ts";
import type { Engine } from "../../schema/engine.ts";
import type { ExperimentConfig } from "../../schema/experiment.ts";
import type { PageAssets } from "../../schema/page_assets.ts";
import type { PageFiles } from "../../schema/page_files.ts";
import type { Platform } from "../../schema/platform.ts";
import { isStoppable, type RunControl, type RunStatus } from "../../schema/run_control.ts";
import type { ScriptedReply } from "../../schema/script.ts";
import type { Store } from "../../schema/store.ts";
import { runOnHost } from "../run_on_host.ts";
import { RunSteering } from "../run_steering.ts";
import type { TokenBytes } from "../session/session_options.ts";
import type { TabExperiment } from "./experiments.ts";
import { FolderSwap } from "./folder_swap.ts";
import { keepExperimentModel } from "./page_models.ts";
import type { AgentWay } from "./tab_messages.ts";
import { experimentFolder, runFolderOf, storePathOf } from "./tab_places.ts";
import { checkTabStore, tabRunHost } from "./tab_run_host.ts";

/** What the runs of a tab share. */
export interface TabParts {
  readonly platform: Platform;
  readonly sqlite: BrowserSqlite;
  readonly assets: PageAssets;
  readonly page: PageFiles;
  readonly agents: AgentWay;
  readonly gatewayUrl: string | null;
  /** The gateway's admin key, the same for every run of the tab. */
  readonly key: string;
  scriptAt(path: string): AgentStart["script"];
  /** The gateway in use from now on. */
  use(app: GatewayApp): void;
  say(line: string): void;
}

/** How a tab puts what a person brings in place of what is kept. */
export function tabSwap({ platform, sqlite }: TabParts): FolderSwap {
  return new FolderSwap(platform.files, sqlite, (path) => checkTabStore(platform, sqlite, path));
}

/** A run to start in a tab. */
export interface TabRunRequest {
  readonly experiment: TabExperiment;
  readonly config: ExperimentConfig;
  readonly resume: boolean;
  readonly paused: boolean;
  /** Replies that the model is made to give; empty: it answers by itself. */
  readonly script: readonly ScriptedReply[];
}

const silent: LoopReporter = { rollouts() {}, failures() {}, update() {}, validation() {} };

/** What the gateway shows of a run; `control` steers the tab. */
export function runParts(
  { platform, page }: TabParts,
  control: RunControl,
  { id, title }: TabExperiment,
  config: ExperimentConfig,
): (store: Store, engine?: Engine, tokenBytes?: TokenBytes) => Pick<GatewayDeps, "control" | "page" | "studio"> {
  const view = { files: platform.files, runFolder: runFolderOf(id), name: title, config };
  return (store, _engine, tokenBytes) => {
    const spelled = tokenBytes === undefined ? {} : { tokenBytes };
    return { control, page, studio: new RunView({ ...view, ...spelled, store }) };
  };
}

/** What a run does: opens everything, trains to its end, keeps the model open until `lingers` resolves, closes it. */
export type TabWork = (
  parts: TabParts,
  control: RunControl,
  request: TabRunRequest,
  run: { readonly steering: RunSteering; readonly lingers: Promise<void> },
) => Promise<void>;

/** One run of a tab from its start to its end; the trained model answers until it is released. */
export class TabRun {
  readonly experiment: TabExperiment;
  readonly config: ExperimentConfig;
  readonly steering: RunSteering;
  /** Resolves when the run has ended and everything of it is closed. */
  readonly closed: Promise<void>;
  private release: () => void = () => {};

  constructor(parts: TabParts, control: RunControl, request: TabRunRequest, work: TabWork) {
    const { experiment, config, paused } = request;
    this.experiment = experiment;
    this.config = config;
    this.steering = new RunSteering({ runtime: "browser", experiment: experiment.id, config, paused });
    const lingers = new Promise<void>((resolve) => {
      this.release = resolve;
    });
    // What went wrong is in the status.
    this.closed = work(parts, control, request, { steering: this.steering, lingers }).catch(() => {});
  }

  status(): RunStatus {
    return this.steering.status();
  }

  /** Resolves when the run is open. @throws LeydenError why it is not */
  opened(): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (this.status().phase === "opening") return;
        stop();
        resolve();
      };
      const stop = this.steering.onChange(look);
      look();
    });
  }

  /** Lets go of a finished run's model. */
  async close(): Promise<void> {
    this.release();
    const { phase } = this.status();
    if (isStoppable(phase)) await this.steering.stop();
    await this.closed;
  }
}

/** The run as a tab does it. @throws LeydenError; what is stored can be resumed */
export const workInTab: TabWork = async (parts, control, request, { steering, lingers }) => {
  const { experiment, config, resume, script } = request;
  const { platform, assets, sqlite, key, say } = parts;
  const { files } = platform;
  const configFolder = experimentFolder(experiment.lessonsOf ?? experiment.id);
  const runFolder = runFolderOf(experiment.id);
  try {
    await keepExperimentModel(files, assets, experiment, files.join(configFolder, "model"));
    if (!resume) {
      await files.remove(runFolder);
      sqlite.remove(storePathOf(experiment.id));
    }
  } catch (thrown) {
    steering.finished(thrown);
    throw thrown;
  }
  await runOnHost(tabRunHost({ ...parts, experiment }), {
    ...{ config, configFolder, runFolder, resume, key, say, script },
    signal: steering.signal,
    reporter: silent,
    steering,
    gatewayParts: runParts(parts, control, experiment, config),
    linger: () => lingers,
    tellsStartup: false,
  });
};
