import { hex } from "../core/clock.ts";
import { ConfigError } from "../core/errors.ts";
import { Loop, type LoopReporter } from "../experiment/loop.ts";
import { alignStore } from "../experiment/resume.ts";
import { type MetricsLine, RunFolder, type RunState } from "../experiment/run_folder.ts";
import type { ExperimentConfig } from "../schema/experiment.ts";
import type { HostPlatform } from "../schema/platform.ts";
import type { Startup } from "../schema/startup.ts";
import { pathFrom } from "./load_config.ts";
import { modelTextFiles } from "./model_text_files.ts";
import { openTelemetry } from "./open_telemetry.ts";
import { withBaseModel } from "./random_weights.ts";
import { runCompletions } from "./run_completions.ts";
import { type RunRequest, type RunResult, type StartingPoint, summarize } from "./run_request.ts";
import { openSession } from "./session.ts";
import { StartupWatch, startupText } from "./startup.ts";

const freshState: Omit<RunState, "configSha256"> = {
  format: 1,
  update: 0,
  version: 0,
  optimizerSteps: 0,
  cursor: 0,
  carryOver: [],
  storeSeq: 0,
  weightsSha256: "",
};

/** SHA-256 of a configuration's JSON, in hexadecimal. */
async function configHash(config: ExperimentConfig): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(config));
  return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/** The state to start from and the folder with its weights. @throws ConfigError when a run is there and not resumed */
async function startingPoint(
  folder: RunFolder,
  { config, configFolder, resume, say }: RunRequest,
  platform: HostPlatform,
): Promise<StartingPoint> {
  const configSha256 = await configHash(config);
  const base = pathFrom(platform.files, configFolder, config.model.path);
  if (!resume) {
    if (await folder.exists()) {
      throw new ConfigError(`${folder.path} already holds a run.`, {
        do: "Pass --resume to continue it, or --out with another folder.",
      });
    }
    return { state: { ...freshState, configSha256 }, modelFolder: base, optimizerFolder: "" };
  }
  const checkpoint = await folder.latestCheckpoint();
  if (checkpoint === null) {
    say("There is no checkpoint yet: the run starts over.");
    return { state: { ...freshState, configSha256 }, modelFolder: base, optimizerFolder: "" };
  }
  if (checkpoint.state.configSha256 !== configSha256) say("The configuration differs from the one the run began with.");
  return { state: checkpoint.state, modelFolder: checkpoint.folder, optimizerFolder: checkpoint.folder };
}

/** Trains to the configured number of updates. @throws LeydenError; what is on disk can be resumed */
export async function runExperiment(platform: HostPlatform, asked: RunRequest): Promise<RunResult> {
  const startMs = platform.clock.monotonic();
  const folder = new RunFolder(platform.files, asked.runFolder);
  const request = await withBaseModel(platform.files, asked);
  const start = await startingPoint(folder, request, platform);
  if (request.config.rollout.completion !== "") return runCompletions(platform, request, folder, start, startMs);
  return runAgents(platform, request, folder, start, startMs);
}

async function runAgents(
  platform: HostPlatform,
  request: RunRequest,
  folder: RunFolder,
  { state, modelFolder, optimizerFolder }: StartingPoint,
  startMs: number,
): Promise<RunResult> {
  const { config, configFolder, runFolder, signal, reporter, say } = request;
  await platform.files.makeFolder(runFolder);
  let lastLine: MetricsLine = {};
  const session = await openSession(platform, {
    config,
    configFolder,
    runFolder,
    modelFolder,
    optimizerFolder,
    version: state.version,
    train: true,
    store: config.store.kind === "memory" ? "memory" : folder.at("store.sqlite"),
    say,
    ...(request.port === undefined ? {} : { port: request.port }),
    runMetrics: () => lastLine,
    beforeAgents: async (store) => {
      // Only now that the store is ours: another process may be at work on this run.
      await folder.truncateMetrics(state.update);
      if (!request.resume) return;
      const report = await alignStore(store, state, platform.clock.now() / 1000);
      say(`Resuming after update ${state.update}: ${report.kept} rollouts kept, ${report.restarted} run again.`);
    },
  });
  const tell = request.tellsStartup === false ? () => {} : (startup: Startup) => say(startupText(startup));
  const watch = new StartupWatch(session.engine, platform.clock.monotonic, startMs, tell);
  const telemetry = await openTelemetry(platform, session.store, request.otel ?? "", say);
  try {
    // Only now: a run that cannot start, for want of its model say, leaves its folder free.
    await folder.writeConfig(config);
    const loop = new Loop(
      {
        config,
        configSha256: state.configSha256,
        dataset: session.dataset,
        engine: session.engine,
        store: session.store,
        folder,
        clock: platform.clock,
        rolloutConfig: session.rolloutConfig,
        hooks: session.hooks,
        modelFiles: await modelTextFiles(platform.files, modelFolder),
        reporter: alsoTold(watch.watch(reporter), (line) => {
          lastLine = line;
          telemetry?.update(line);
        }),
        signal,
      },
      state,
    );
    const ended = await loop.run();
    const startup = await watch.startup;
    const summary = await summarize(platform, session.engine, request, ended, startMs);
    const result = { ...summary, ...(startup === null ? {} : { startup }) };
    await folder.writeResult(result);
    return result;
  } finally {
    await telemetry?.close();
    await session.close();
  }
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
