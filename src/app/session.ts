import { createApp, type GatewayApp } from "../../gateway/app.ts";
import type { ServedGateway } from "../../gateway/listening.ts";
import { hex } from "../core/clock.ts";
import { asLeydenError } from "../core/errors.ts";
import { Controller } from "../rollout/controller.ts";
import type { ControllerReport } from "../rollout/controller_options.ts";
import { bindGrader } from "../rollout/graders/registry.ts";
import type { RolloutHooks } from "../rollout/hooks.ts";
import { ProcessRunner } from "../rollout/process_runner.ts";
import { Settler, taskOfRollout } from "../rollout/settle.ts";
import { StoreClient } from "../rollout/store_client.ts";
import { type AgentCommand, defaultRunLimits } from "../schema/agent.ts";
import type { Engine } from "../schema/engine.ts";
import type { ExperimentConfig } from "../schema/experiment.ts";
import type { Files } from "../schema/files.ts";
import type { AdapterOptions } from "../schema/lora.ts";
import { baseAdapter } from "../schema/lora.ts";
import type { HostPlatform } from "../schema/platform.ts";
import type { Store } from "../schema/store.ts";
import type { Dataset } from "../schema/task.ts";
import type { RolloutConfig } from "../schema/wire.ts";
import { adapterEngine } from "./adapter_engine.ts";
import { listen } from "./listen.ts";
import { pathFrom } from "./load_config.ts";
import { loadDataset, loadHooks } from "./load_modules.ts";
import { type OpenedCodec, openCodec } from "./open_codec.ts";
import { openEngine } from "./open_engine.ts";
import { openStore } from "./open_store.ts";
import { prepareAgent } from "./prepare_agent.ts";

/** What a session is opened with. */
export interface SessionOptions {
  readonly config: ExperimentConfig;
  /** Folder of the configuration file; its relative paths start here. */
  readonly configFolder: string;
  /** Where attempts' logs go. */
  readonly runFolder: string;
  /** Weights to start from: the base model, or a checkpoint. */
  readonly modelFolder: string;
  /** Folder with optimizer.safetensors, or empty. */
  readonly optimizerFolder: string;
  readonly version: number;
  /** False when nothing will be trained. */
  readonly train: boolean;
  /** SQLite file, or "memory". */
  readonly store: string;
  /** Port of the gateway; default a free one. */
  readonly port?: number;
  /** The run's last line of metrics, for the gateway's /metrics. */
  runMetrics?(): Readonly<Record<string, number | string | null>>;
  /** Runs before the first agent starts. */
  beforeAgents?(store: Store): Promise<void>;
  /** Tells the person one line. */
  say(line: string): void;
  report?(report: ControllerReport): void;
}

/** Engine, gateway, store and controller at work together in one program. */
export interface Session {
  readonly engine: Engine;
  readonly store: Store;
  readonly dataset: Dataset;
  readonly rolloutConfig: RolloutConfig;
  readonly hooks: RolloutHooks;
  readonly gatewayUrl: string;
  /** Ends agents, gateway, engine and store, in this order. */
  close(): Promise<void>;
}

/** How long an agent counts as starting at most. */
const startWindowMs = 2_000;
const retryDelayMs = 500;
const drainMs = 10_000;

/** Opens everything a run needs. @throws LeydenError whatever is missing or wrong; nothing is left running then */
export async function openSession(platform: HostPlatform, options: SessionOptions): Promise<Session> {
  const opened: (() => Promise<unknown>)[] = [];
  const closeAll = async (): Promise<void> => {
    for (const close of opened.splice(0).reverse()) await close();
  };
  try {
    return await open(platform, options, opened, closeAll);
  } catch (thrown) {
    await closeAll();
    throw thrown;
  }
}

async function open(
  platform: HostPlatform,
  options: SessionOptions,
  opened: (() => Promise<unknown>)[],
  close: () => Promise<void>,
): Promise<Session> {
  const { config, configFolder } = options;
  const dataset = await loadDataset(platform.files, configFolder, config.task.dataset);
  const store = await openStore(platform, options.store);
  opened.push(() => store.close());
  const engine = await openSessionEngine(platform, options);
  opened.push(() => engine.close());
  const codec = await openCodec(platform, options.modelFolder);
  opened.push(() => codec.close());
  const app = openGateway(platform, options, store, engine, codec);
  const served = await listen(platform, app, { host: "127.0.0.1", port: options.port ?? 0 });
  opened.push(() => served.close(drainMs));
  const hooks = await loadHooks(platform.files, configFolder, config.rollout.hooks);
  const controller = await openController(platform, options, { store, app, served, hooks });
  await options.beforeAgents?.(store);
  const stop = new AbortController();
  const controlled = controller.run(stop.signal);
  opened.push(() => {
    stop.abort();
    return controlled;
  });
  return { engine, store, dataset, rolloutConfig: rolloutConfigOf(config), hooks, gatewayUrl: served.url, close };
}

/** The engine of a run: policy, and the reference policy and the critic where the objective takes them. */
export function openSessionEngine(
  platform: HostPlatform,
  o: Pick<SessionOptions, "config" | "configFolder" | "modelFolder" | "optimizerFolder" | "version" | "train">,
): Promise<Engine> {
  const { model, train } = o.config;
  const needsReference = o.train && train.klCoef !== 0;
  const needsCritic = o.train && train.critic !== "none";
  const own = platform.files.join(o.optimizerFolder, "critic");
  const base = pathFrom(platform.files, o.configFolder, model.path);
  return openEngine(platform, {
    modelFolder: o.modelFolder,
    optimizerFolder: o.optimizerFolder,
    referenceFolder: needsReference ? base : "",
    criticFolder: needsCritic ? (o.optimizerFolder === "" ? base : own) : "",
    version: o.version,
    train: o.train,
    contextLength: model.contextLength,
    kvTokens: model.kvTokens,
    kvFormat: model.kvFormat,
    maxSequences: model.maxSequences,
    prefillTokens: model.prefillTokens,
    burst: model.burst,
    microBatchTokens: train.microBatchTokens,
    recomputedLayers: train.recomputedLayers,
    optimizerStates: train.optimizerStates,
    adapters:
      o.train && train.loraRank > 0 ? policyNames(o.config).map((name) => adapterOf(o, name, platform.files)) : [],
    weights: model.weights,
    memoryBytes: model.memoryBytes,
    seed: o.config.seed,
    inFlight: o.config.schedule.mode === "interleaved" ? o.config.schedule.inFlight : "drain",
    stepsPerQuantum: o.config.schedule.stepsPerQuantum,
    faults: platform.env.LEYDEN_FAULT ?? "",
  });
}

/** Names of the policies that a run trains, the default first. */
function policyNames({ model, train }: ExperimentConfig): string[] {
  return train.policies.length === 0 ? [model.name] : train.policies;
}

/** An adapter that a run trains, or continues with; a checkpoint keeps several in folders of their own. */
function adapterOf(
  { config, optimizerFolder }: Pick<SessionOptions, "config" | "optimizerFolder">,
  name: string,
  files: Files,
): AdapterOptions {
  const { loraRank: rank, loraAlpha: alpha, loraTargets: targets, rslora } = config.train;
  const several = policyNames(config).length > 1 && optimizerFolder !== "";
  const folder = several ? files.join(optimizerFolder, name) : optimizerFolder;
  return { name, folder, lora: { rank, alpha, targets, rslora } };
}

/** What the untrained model under adapters is called. */
const frozenName = "policy-frozen";

function openGateway(
  platform: HostPlatform,
  { config, say, runMetrics }: SessionOptions,
  store: Store,
  engine: Engine,
  { codec, tokenText, tokenBytes }: OpenedCodec,
): GatewayApp {
  const served = { codec, tokenText, tokenBytes };
  const [first, ...more] = policyNames(config);
  const further = more.map((name) => [name, { engine: adapterEngine(engine, name), ...served }] as const);
  const frozen = { engine: adapterEngine(engine, baseAdapter), ...served };
  return createApp({
    store,
    model: { engine, ...served },
    policies: Object.fromEntries(further),
    others: config.train.loraRank > 0 ? { [frozenName]: frozen } : {},
    clock: platform.clock,
    entropy: platform.entropy,
    config: {
      key: hex(platform.entropy.bytes(24)),
      modelName: first ?? config.model.name,
      trainTemperature: config.train.temperature,
      valTemperature: config.eval.temperature,
      seed: config.seed,
    },
    ...(runMetrics === undefined ? {} : { runMetrics }),
    report: (fault) => say(`gateway: ${asLeydenError(fault).message}`),
  });
}

async function openController(
  platform: HostPlatform,
  options: SessionOptions,
  { store, app, served, hooks }: { store: Store; app: GatewayApp; served: ServedGateway; hooks: RolloutHooks },
): Promise<Controller> {
  const { files, processes, clock } = platform;
  const r = options.config.rollout;
  const agent = await agentOf(platform, options);
  const client = new StoreClient({
    store,
    clock,
    gatewayUrl: served.url,
    keyOf: (rolloutId, attemptId) => app.issueKey(rolloutId, attemptId),
    waitingCalls: (rolloutId, attemptId) => app.waitingCalls(rolloutId, attemptId),
  });
  const launcher = r.nice > 0 && platform.system.os !== "win32" ? ["nice", "-n", String(r.nice)] : [];
  const settler = new Settler({
    rewardSource: r.reward,
    grader: r.reward === "grader" ? bindGrader(r.grader, r.graderOptions) : null,
    hooks,
    taskOf: taskOfRollout,
    tools: { files, processes, clock },
  });
  return new Controller(
    {
      agent,
      concurrency: r.concurrency,
      startConcurrency: r.startConcurrency,
      startWindowMs,
      limits: {
        ...defaultRunLimits,
        queueMs: r.queueSeconds * 1000,
        runMs: r.timeoutSeconds * 1000,
        silenceMs: r.silenceSeconds * 1000,
        outputBytes: r.outputBytes,
      },
      retries: { infrastructure: r.retries },
      retryDelayMs,
      onShutdown: "leave",
      runFolder: options.runFolder,
    },
    {
      client,
      runner: new ProcessRunner({ processes, files, clock, launcher }),
      settler,
      clock,
      files,
      report: (report) => {
        options.report?.(report);
        if (report.kind === "error") options.say(`${report.where}: ${report.error.message}`);
      },
    },
  );
}

/** The configured command line, its paths made absolute, after its prepare module. */
function agentOf(platform: HostPlatform, { config, configFolder, say }: SessionOptions): Promise<AgentCommand> {
  const { files, cacheFolder } = platform;
  const r = config.rollout;
  const at = (path: string): string => files.absolute(pathFrom(files, configFolder, path));
  const agent: AgentCommand = {
    command: r.command,
    cwd: at(r.cwd ?? "."),
    inheritEnv: r.inheritEnv,
    ...(r.env === undefined ? {} : { env: r.env }),
    ...(r.envMap === undefined ? {} : { envMap: r.envMap }),
    ...(r.stdin === undefined ? {} : { stdin: r.stdin }),
    ...(r.workspace === undefined ? {} : { workspace: at(r.workspace) }),
  };
  const module = r.prepare === "" ? "" : at(r.prepare);
  return prepareAgent(agent, module, { files, folder: configFolder, cacheFolder, say });
}

function rolloutConfigOf({ rollout }: ExperimentConfig): RolloutConfig {
  return {
    timeout_seconds: Math.ceil(rollout.timeoutSeconds),
    local: null,
    k8s: null,
    reward: { source: rollout.reward },
  };
}
