import { CancelledError } from "../../core/errors.ts";
import type { LoopReporter } from "../../experiment/loop.ts";
import type { ExperimentConfig } from "../../schema/experiment.ts";
import { isOver, isStoppable, type RunControl, type RunStatus } from "../../schema/run_control.ts";
import type { ScriptedReply } from "../../schema/script.ts";
import { runOnHost } from "../run_on_host.ts";
import { RunSteering } from "../run_steering.ts";
import { AsideFolder } from "./aside_folder.ts";
import type { TabExperiment } from "./experiments.ts";
import { FolderSwap, unfinishedSwap } from "./folder_swap.ts";
import { leftGateway } from "./left_gateway.ts";
import { keepExperimentModel } from "./page_models.ts";
import { runParts } from "./run_parts.ts";
import type { TabParts } from "./tab_parts.ts";
import { experimentFolder, idOfFolder, replacedFolder, runFolderOf, storePathOf } from "./tab_places.ts";
import { checkTabStore, tabRunHost } from "./tab_run_host.ts";

/** How a tab puts what a person brings in place of what is kept. */
export function tabSwap({ platform, sqlite }: TabParts): FolderSwap {
  return new FolderSwap(platform.files, sqlite, (path) => checkTabStore(platform, sqlite, path));
}

/** Puts right what an import has left that the page before did not end, and says of which. */
export async function settleSwap(parts: TabParts): Promise<void> {
  const target = await tabSwap(parts).settle();
  if (target === null) return;
  const name = idOfFolder(target.slice(target.lastIndexOf("/") + 1));
  parts.say(`The import of ${name} was cut off by a reload: nothing was changed. Bring it again.`);
}

/** Where a tab keeps the run that another one is to replace, until that one is open. */
export function replacedRun({ platform, sqlite }: Pick<TabParts, "platform" | "sqlite">): AsideFolder {
  return new AsideFolder(platform.files, sqlite, replacedFolder);
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

/**
 * What a run does: opens everything, awaits `stands`, trains to its end, keeps the model open until `lingers` resolves,
 * closes it.
 */
export type TabWork = (
  parts: TabParts,
  control: RunControl,
  request: TabRunRequest,
  run: { readonly steering: RunSteering; readonly lingers: Promise<void>; stands(): Promise<void> },
) => Promise<void>;

/**
 * One run of a tab from its start to its end; the trained model answers until it is released. The run whose place it takes
 * is gone when this one is open, and comes back when it cannot be opened.
 */
export class TabRun {
  readonly experiment: TabExperiment;
  readonly config: ExperimentConfig;
  readonly steering: RunSteering;
  /** Resolves when the run has ended and everything of it is closed. */
  readonly closed: Promise<void>;
  /** The run that it was to replace: none, one that may come back, or one that has. */
  replaced: "none" | "waits" | "returned" = "none";
  private isInPlace = false;
  private release: () => void = () => {};

  /** `opened` is told when nothing can bring back the run before it. */
  constructor(
    parts: TabParts,
    control: RunControl,
    request: TabRunRequest,
    work: TabWork,
    opened: () => Promise<void>,
  ) {
    const { experiment, config, paused } = request;
    this.experiment = experiment;
    this.config = config;
    this.steering = new RunSteering({ runtime: "browser", experiment: experiment.id, config, paused });
    const lingers = new Promise<void>((resolve) => {
      this.release = resolve;
    });
    const aside = replacedRun(parts);
    const stands = async (): Promise<void> => {
      if (this.replaced === "waits" && this.steering.signal.aborted) throw new CancelledError("The start of the run");
      if (!request.resume) await aside.forget();
      this.replaced = "none";
      this.isInPlace = true;
      await opened();
    };
    this.closed = this.carryOut(request, aside, () =>
      work(parts, control, request, { steering: this.steering, lingers, stands }),
    );
  }

  /** A run that gives back the place of another one has not ended before that is done. */
  status(): RunStatus {
    const status = this.steering.status();
    return this.replaced === "waits" && isOver(status.phase) ? { ...status, phase: "stopping", error: null } : status;
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

  private async carryOut(
    { experiment: { id }, resume }: TabRunRequest,
    aside: AsideFolder,
    work: () => Promise<void>,
  ): Promise<void> {
    const folder = runFolderOf(id);
    try {
      // From the first change on.
      if (!resume) this.replaced = "waits";
      if (!resume && !(await aside.take(folder, storePathOf(id)))) this.replaced = "none";
      await work();
    } catch (thrown) {
      // What went wrong is in the status.
      this.steering.finished(thrown);
    }
    if (resume || this.isInPlace) return;
    try {
      await aside.putBack();
      if (this.replaced === "waits") this.replaced = "returned";
    } catch (cause) {
      this.replaced = "none";
      this.steering.finished(unfinishedSwap(folder, this.steering.fault, cause));
    }
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
export const workInTab: TabWork = async (parts, control, request, { steering, lingers, stands }) => {
  const { experiment, config, resume, script } = request;
  const { platform, assets, key, say } = parts;
  const { files } = platform;
  const configFolder = experimentFolder(experiment.lessonsOf ?? experiment.id);
  const runFolder = runFolderOf(experiment.id);
  await keepExperimentModel(files, assets, experiment, files.join(configFolder, "model"));
  const leave = (): Promise<void> => parts.use(leftGateway(parts, control, { experiment, config, viewed: null }));
  await runOnHost(tabRunHost({ ...parts, experiment, leave }), {
    ...{ config, configFolder, runFolder, resume, key, say, script },
    signal: steering.signal,
    reporter: silent,
    steering,
    gatewayParts: runParts(parts, control, experiment, config),
    linger: () => lingers,
    stands,
    tellsStartup: false,
  });
};
