import { openEngine } from "../../app/open_engine.ts";
import { parseConfig } from "../../experiment/config.ts";
import { evaluate } from "../../experiment/evaluation.ts";
import { Loop } from "../../experiment/loop.ts";
import { freshRunState, type MetricsLine, RunFolder } from "../../experiment/run_folder.ts";
import { deviceTimeSince } from "../../experiment/update_step.ts";
import { parseHfConfig } from "../../io/hf_config.ts";
import type { TensorSource } from "../../io/safetensors.ts";
import { saveModel } from "../../io/save_model.ts";
import { familyOf } from "../../model/families/registry.ts";
import { initialTensors } from "../../model/initialize.ts";
import { pageTokens } from "../../ops/kv_pages.ts";
import type { DevicePolicy } from "../../schedule/device_schedule.ts";
import type { GroupPolicy } from "../../schedule/group_schedule.ts";
import { type VirtualResult, VirtualRun } from "../../schedule/virtual_run.ts";
import type { DeviceTime, Engine } from "../../schema/engine.ts";
import type { ExperimentConfig } from "../../schema/experiment.ts";
import type { HostPlatform } from "../../schema/platform.ts";
import type { Dataset, TaskRow } from "../../schema/task.ts";
import { MemoryStore } from "../../store/memory_store.ts";
import { type AsyncTask, InProcessAgents } from "./agents.ts";
import { type Calibration, Calibrator } from "./calibration.ts";
import { asyncModel, asyncWork, type ToolLatency, virtualWorkload } from "./workload.ts";

/** A mode, a list and its tools: one piece of the suite. */
export interface AsyncPiece {
  readonly seed: number;
  readonly mode: GroupPolicy["mode"];
  readonly latency: ToolLatency;
}

/** What a piece came to. */
export interface PieceResult extends AsyncPiece {
  readonly seconds: number;
  readonly deviceSeconds: DeviceTime;
  /** Prompt tokens computed, and decode steps. */
  readonly promptTokens: number;
  readonly decodeSteps: number;
  /** Largest age of a trained group, in updates, and of a trained token, in versions. */
  readonly maxGroupAge: number;
  readonly maxTokenAge: number;
  readonly drainSeconds: number;
  /** Mean reward of the first and the last update, and of the held-out tasks after the run. */
  readonly firstReward: number;
  readonly lastReward: number;
  readonly heldOutReward: number;
  /** What the virtual clock says of the same list, from costs of single actions that are measured apart. */
  readonly predicted: VirtualResult;
  readonly calibration: Calibration;
  readonly adapter: string;
}

const device = {
  maxSequences: 64,
  prefillTokens: 512,
  burst: 4,
  kvTokens: 262_144,
  microBatchTokens: asyncModel.max_position_embeddings,
} as const;
const stepsPerQuantum = 8;
/** The examples' own. The list ends after six updates: at 2e-2 what ages cost them shows more than the schedule. */
const learningRate = 1e-3;
/** A pass of training is cut at every layer, forward and backward, and before and after the head. */
const passQuanta = 2 * asyncModel.num_hidden_layers + 2;
const heldOutTasks = 64;
const heldOutSamples = 2;

/** Runs one piece: engine and model of its own, the list to its end, held-out tasks, costs. */
export async function runPiece(
  platform: HostPlatform,
  piece: AsyncPiece,
  folder: string,
  note: (line: string) => void,
): Promise<PieceResult> {
  const { files } = platform;
  const model = files.join(folder, "model");
  await writeModel(platform, model, piece.seed);
  const inFlight = piece.mode === "interleaved" ? "keep" : "drain";
  const engine = await openEngine(platform, {
    modelFolder: model,
    ...device,
    contextLength: asyncModel.max_position_embeddings,
    inFlight,
    stepsPerQuantum,
  });
  try {
    const calibrator = new Calibrator(engine);
    await calibrator.warmUp();
    note(`  ${piece.latency} ${piece.mode} seed ${piece.seed}`);
    const measured = await runList(platform, engine, piece, folder);
    // After the list: in a cache that many sequences have grown in, a sequence's pages take twice as long to read.
    const calibration = await calibrator.measure();
    const predicted = predict(piece, calibration);
    const { adapter } = await engine.info();
    return { ...piece, ...measured, predicted, calibration, adapter };
  } finally {
    await engine.close();
    await files.remove(folder);
  }
}

/** What the virtual clock makes of a piece on a device of these costs. */
export function predict({ seed, mode, latency }: AsyncPiece, { costs, turnMs }: Calibration): VirtualResult {
  const { tasksPerUpdate, activeGroups, maxAge } = asyncWork;
  const interleaved = mode === "interleaved";
  const policy: DevicePolicy = { inFlight: interleaved ? "keep" : "drain", stepsPerQuantum };
  const { maxSequences, prefillTokens, burst, microBatchTokens } = device;
  return new VirtualRun(virtualWorkload(seed, latency), {
    costs,
    turnMs,
    limits: { maxSequences, prefillTokens, burst, pageTokens, microBatchTokens, passQuanta },
    device: policy,
    groups: { mode, tasksPerUpdate, activeGroups, maxAge: mode === "sync" ? 0 : maxAge },
    collects: interleaved,
  }).run();
}

async function writeModel({ files }: HostPlatform, folder: string, seed: number): Promise<void> {
  const parsed = parseHfConfig({ ...asyncModel });
  const family = familyOf(parsed);
  const tensors = [...initialTensors(family, family.describe(parsed), { seed })].map(
    ({ name, shape, values }): TensorSource => ({ name, shape, dtype: "F32", load: () => values }),
  );
  await saveModel(files, folder, { config: { ...asyncModel, torch_dtype: "float32" }, tensors });
}

function experimentOf({ seed, mode }: AsyncPiece): ExperimentConfig {
  const { groups, groupSize, tasksPerUpdate, activeGroups, maxAge } = asyncWork;
  const updates = groups / tasksPerUpdate;
  return parseConfig({
    seed,
    model: { path: "model" },
    task: { dataset: "list" },
    rollout: { command: ["in-process"] },
    train: { updates, tasksPerUpdate, groupSize, learningRate, microBatchTokens: device.microBatchTokens },
    schedule: { mode, activeGroups, maxAge, stepsPerQuantum },
    store: { kind: "memory", checkpointEvery: updates },
  });
}

function taskOf(group: number, heldOut: boolean): TaskRow {
  const input: AsyncTask = { group, heldOut };
  return { id: `${heldOut ? "held" : "task"}-${String(group).padStart(4, "0")}`, input, hidden: {} };
}

type ListResult = Omit<PieceResult, keyof AsyncPiece | "predicted" | "calibration" | "adapter">;

const heldOut: readonly TaskRow[] = Array.from({ length: heldOutTasks }, (_, i) => taskOf(asyncWork.groups + i, true));
const rolloutConfig = { timeout_seconds: 3600, local: null, k8s: null };

/** Agents and loop at work on one store until the list is trained; then the held-out tasks. */
async function runList(platform: HostPlatform, engine: Engine, piece: AsyncPiece, folder: string): Promise<ListResult> {
  const { clock } = platform;
  const store = new MemoryStore();
  const stop = new AbortController();
  let failure: unknown = null;
  const failed = (thrown: unknown): void => {
    if (stop.signal.aborted) return;
    failure = thrown;
    stop.abort();
  };
  const { seed, latency } = piece;
  const agents = new InProcessAgents({ store, engine, clock, seed, latency, signal: stop.signal, failed });
  const living = agents.run();
  const lines: MetricsLine[] = [];
  try {
    const loop = loopOf(platform, engine, piece, { store, folder, signal: stop.signal, lines });
    const before = await engine.stats();
    const startMs = clock.monotonic();
    await loop.run();
    const seconds = (clock.monotonic() - startMs) / 1000;
    const after = await engine.stats();
    const spent = {
      deviceSeconds: deviceTimeSince(after.deviceSeconds, before.deviceSeconds),
      promptTokens: after.promptTokens - before.promptTokens,
      decodeSteps: after.decodeSteps - before.decodeSteps,
    };
    const deps = { store, clock, rolloutConfig, hooks: {}, signal: stop.signal };
    const held = await evaluate(deps, "held", heldOut, heldOutSamples);
    return { seconds, ...spent, ...summarized(lines), heldOutReward: mean(held.flatMap((task) => task.rewards)) };
  } catch (thrown) {
    throw failure ?? thrown;
  } finally {
    stop.abort();
    await living;
    await store.close();
  }
}

function loopOf(
  { clock, files }: HostPlatform,
  engine: Engine,
  piece: AsyncPiece,
  o: { store: MemoryStore; folder: string; signal: AbortSignal; lines: MetricsLine[] },
): Loop {
  const dataset: Dataset = {
    train: () => ({ at: (i) => taskOf(i, false), length: Number.POSITIVE_INFINITY }),
    heldOut,
  };
  const deps = {
    config: experimentOf(piece),
    configSha256: "bench",
    dataset,
    engine,
    store: o.store,
    folder: new RunFolder(files, files.join(o.folder, "run")),
    clock,
    rolloutConfig,
    hooks: {},
    modelFiles: {},
    reporter: { rollouts() {}, failures() {}, validation() {}, update: (line: MetricsLine) => void o.lines.push(line) },
    signal: o.signal,
  };
  return new Loop(deps, { ...freshRunState, configSha256: "bench" });
}

function summarized(lines: readonly MetricsLine[]) {
  const numbers = (name: string): number[] => lines.map((line) => Number(line[name] ?? 0));
  const rewards = numbers("training/reward");
  return {
    maxGroupAge: Math.max(...numbers("training/async/group_age_max_steps")),
    maxTokenAge: Math.max(...numbers("async/age_max")),
    drainSeconds: numbers("training/async/proxy_drain_seconds").reduce((a, b) => a + b, 0),
    firstReward: rewards[0] ?? 0,
    lastReward: rewards.at(-1) ?? 0,
  };
}

/** Mean of numbers; 0 of none. */
export function mean(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0) / Math.max(1, values.length);
}
