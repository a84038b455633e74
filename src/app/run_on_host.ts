import { Loop, type LoopReporter } from "../experiment/loop.ts";
import { alignStore } from "../experiment/resume.ts";
import { type MetricsLine, RunFolder } from "../experiment/run_folder.ts";
import { runNotes } from "../experiment/run_notes.ts";
import { TimelineFile, timelineFileName } from "../experiment/timeline_file.ts";
import type { Startup } from "../schema/startup.ts";
import { modelTextFiles } from "./model_text_files.ts";
import { withBaseModel } from "./random_weights.ts";
import { runCompletions } from "./run_completions.ts";
import type { RunHost } from "./run_host.ts";
import { type RunRequest, type RunResult, type StartingPoint, summarize } from "./run_request.ts";
import { openSession, type Session } from "./session/session.ts";
import { startingPoint } from "./starting_point.ts";
import { StartupWatch, startupText } from "./startup.ts";
import type { Telemetry } from "./telemetry.ts";

/** Trains to the configured number of updates. @throws LeydenError; what is on disk can be resumed */
export async function runOnHost(host: RunHost, asked: RunRequest): Promise<RunResult> {
  const { files, clock } = host.platform;
  const startMs = clock.monotonic();
  try {
    const folder = new RunFolder(files, asked.runFolder);
    const request = await withBaseModel(files, asked);
    const start = await startingPoint(folder, request, files);
    for (const note of runNotes(request.config)) request.say(note);
    const run = request.config.rollout.completion === "" ? runAgents : runCompletions;
    return await run(host, { ...request, config: start.config }, folder, start, startMs);
  } catch (thrown) {
    asked.steering?.finished(thrown);
    throw thrown;
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
  let lastLine: MetricsLine = {};
  const session = await openRunSession(host, request, folder, start, () => lastLine);
  request.served?.(session.gatewayUrl);
  const tell = (startup: Startup): void => {
    steering?.started(startup);
    if (request.tellsStartup !== false) say(startupText(startup));
  };
  const watch = new StartupWatch(session.engine, clock.monotonic, startMs, tell);
  const timeline = new TimelineFile(files, folder.at(timelineFileName), session.engine, say);
  const telemetry = await host.openTelemetry(session.store, request.otel ?? "", say);
  try {
    // Only now: a run that cannot start, for want of its model say, leaves its folder free.
    await folder.writeConfig(config);
    steering?.opened((await session.engine.info()).adapter, start.state.update, start.state.version);
    const reporter = watch.watch(steering?.watch(request.reporter) ?? request.reporter);
    const told = (line: MetricsLine): void => {
      lastLine = line;
      void timeline.note();
      telemetry?.update(line);
    };
    const ended = await loopOf(host, request, folder, start, session, alsoTold(reporter, told)).then((l) => l.run());
    const startup = await watch.startup;
    const summary = await summarize(host.platform, session.engine, request, ended, startMs);
    const result = { ...summary, ...(startup === null ? {} : { startup }) };
    await folder.writeResult(result);
    await timeline.note();
    steering?.finished();
    await request.linger?.();
    return result;
  } catch (thrown) {
    // Pages are told while the gateway still answers.
    steering?.finished(thrown);
    throw thrown;
  } finally {
    steering?.released();
    await closeRun(telemetry, session);
  }
}

function openRunSession(
  host: RunHost,
  request: RunRequest,
  folder: RunFolder,
  { state, modelFolder, optimizerFolder }: StartingPoint,
  lastLine: () => MetricsLine,
): Promise<Session> {
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
    beforeAgents: async (store) => {
      // Only now that the store is ours: another process may be at work on this run.
      await folder.truncateMetrics(state.update);
      if (!request.resume) return;
      const report = await alignStore(store, state, host.platform.clock.now() / 1000);
      say(`Resuming after update ${state.update}: ${report.kept} rollouts kept, ${report.restarted} run again.`);
    },
  });
}

async function loopOf(
  { platform: { files, clock } }: RunHost,
  { config, signal, steering }: RunRequest,
  folder: RunFolder,
  { state, modelFolder }: StartingPoint,
  { dataset, engine, store, rolloutConfig, hooks }: Session,
  reporter: LoopReporter,
): Promise<Loop> {
  const modelFiles = await modelTextFiles(files, modelFolder);
  const run = { config, configSha256: state.configSha256, dataset, engine, store, folder, clock, rolloutConfig, hooks };
  const stop = steering === undefined ? signal : AbortSignal.any([signal, steering.signal]);
  return new Loop(
    { ...run, modelFiles, reporter, signal: stop, ...(steering === undefined ? {} : { gate: steering.gate }) },
    state,
  );
}

async function closeRun(telemetry: Telemetry | null, session: Session): Promise<void> {
  await telemetry?.close();
  await session.close();
}

/** A reporter with somebody else who is told of updates first. */
function alsoTold(reporter: LoopReporter, told: (line: MetricsLine) => void): LoopReporter {
  return {
    rollouts: (...facts) => reporter.rollouts(...facts),
    failures: (...facts) => reporter.failures(...facts),
    validation: (...facts) => reporter.validation(...facts),
    update: (line) => {
      told(line);
      reporter.update(line);
    },
  };
}
