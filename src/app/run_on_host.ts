import { Loop } from "../experiment/loop.ts";
import { alignStore, resumeLines } from "../experiment/resume.ts";
import { type MetricsLine, RunFolder } from "../experiment/run_folder.ts";
import { runNotes } from "../experiment/run_notes.ts";
import { TaskSampler } from "../experiment/task_sampler.ts";
import type { Startup } from "../schema/startup.ts";
import type { Store } from "../schema/store.ts";
import { modelTextFiles } from "./model_text_files.ts";
import { type LoopControls, openRun } from "./open_run.ts";
import { withBaseModel } from "./random_weights.ts";
import { runCompletions } from "./run_completions.ts";
import type { RunHold } from "./run_hold.ts";
import type { RunHost } from "./run_host.ts";
import { type RunRequest, type RunResult, type StartingPoint, summarize } from "./run_request.ts";
import { openSession, type Session } from "./session/session.ts";
import { startingPoint, withKeptSeed } from "./starting_point.ts";
import { StartupWatch, startupText } from "./startup.ts";

/**
 * Trains to the configured number of updates, in a folder that nobody else trains in meanwhile.
 * @throws LeydenError; what is on disk can be resumed
 */
export async function runOnHost(host: RunHost, asked: RunRequest): Promise<RunResult> {
  const { files, clock } = host.platform;
  const startMs = clock.monotonic();
  let hold: RunHold | undefined;
  try {
    hold = await host.holdRun?.(asked.runFolder);
    const folder = new RunFolder(files, asked.runFolder, hold?.check);
    const request = await withBaseModel(files, asked.resume ? await withKeptSeed(files, asked) : asked);
    const start = await startingPoint(folder, request, files);
    for (const note of runNotes(request.config)) request.say(note);
    const run = request.config.rollout.completion === "" ? runAgents : runCompletions;
    return await run(host, { ...request, config: start.config }, folder, start, startMs);
  } catch (thrown) {
    asked.steering?.finished(thrown);
    throw thrown;
  } finally {
    hold?.release();
  }
}

async function runAgents(
  host: RunHost,
  request: RunRequest,
  folder: RunFolder,
  start: StartingPoint,
  startMs: number,
): Promise<RunResult> {
  const { config, say, steering } = request;
  const { files, clock } = host.platform;
  await files.makeFolder(request.runFolder);
  const tell = (startup: Startup): void => {
    steering?.started(startup);
    if (request.tellsStartup !== false) say(startupText(startup));
  };
  return openRun(host, request, folder, {
    open: (lastLine) => openRunSession(host, request, folder, start, lastLine),
    train: async (session, controls) => {
      const { engine, gatewayUrl } = session;
      request.served?.(gatewayUrl);
      const watch = new StartupWatch(engine, clock.monotonic, startMs, tell);
      // Only now: a run that cannot start, for want of its model say, leaves its folder free.
      await folder.writeConfig(config);
      await request.stands?.();
      steering?.opened((await engine.info()).adapter, start.state.update, start.state.version);
      const watched = { ...controls, reporter: watch.watch(controls.reporter) };
      const ended = await (await loopOf(host, request, folder, start, session, watched)).run();
      const startup = await watch.startup;
      const summary = await summarize(host.platform, engine, request, ended, startMs);
      return { ...summary, ...(startup === null ? {} : { startup }) };
    },
  });
}

function openRunSession(
  host: RunHost,
  request: RunRequest,
  folder: RunFolder,
  start: StartingPoint,
  lastLine: () => MetricsLine,
): Promise<Session> {
  const { state, modelFolder, optimizerFolder } = start;
  const { config, configFolder, runFolder, say, port, key, script, gatewayParts, farewell } = request;
  return openSession(host, {
    config,
    configFolder,
    runFolder,
    modelFolder,
    optimizerFolder,
    version: state.version,
    train: true,
    store: config.store.kind === "memory" ? "memory" : folder.at("store.sqlite"),
    say,
    ...(port === undefined ? {} : { port }),
    ...(key === undefined ? {} : { key }),
    ...(script === undefined ? {} : { script }),
    ...(farewell === undefined ? {} : { farewell }),
    gatewayParts: (...parts) => ({ runMetrics: lastLine, ...gatewayParts?.(...parts) }),
    beforeAgents: async (opened, modules) => {
      // Only now that the store is ours: another process may be at work on this run.
      await folder.truncateMetrics(state.update);
      if (request.resume) await resumeStore(request, start, opened, modules, host.platform.clock.now() / 1000);
    },
  });
}

/** Brings the store of a resumed run in line with where it starts, and says what became of the rollouts in it. */
async function resumeStore(
  { config, say }: RunRequest,
  { state, rolloutChanges: changes }: StartingPoint,
  store: Store,
  { dataset, hooks }: Pick<Session, "dataset" | "hooks">,
  now: number,
): Promise<void> {
  const { seed, train } = config;
  const tasks = new TaskSampler(dataset.train(seed), train.taskSampling, seed, state.tasks);
  const report = await alignStore(store, state, {
    changes,
    taskAt: (index) => tasks.settled(index),
    groupSize: train.groupSize,
    isHooked: hooks.onEnqueue !== undefined,
    now,
  });
  for (const line of resumeLines(state.update, report, changes)) say(line);
}

async function loopOf(
  { platform: { files, clock } }: RunHost,
  { config }: RunRequest,
  folder: RunFolder,
  { state, modelFolder }: StartingPoint,
  { dataset, engine, store, rolloutConfig, hooks }: Session,
  controls: LoopControls,
): Promise<Loop> {
  const modelFiles = await modelTextFiles(files, modelFolder);
  const run = { config, configSha256: state.configSha256, dataset, engine, store, folder, clock, rolloutConfig, hooks };
  return new Loop({ ...run, modelFiles, ...controls }, state);
}
