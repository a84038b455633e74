import { evaluate, type TaskResult } from "../experiment/evaluation.ts";
import { countFailures, type FailureCount } from "../experiment/failures.ts";
import { nameGroup } from "../experiment/groups.ts";
import { transcript } from "../rollout/transcript.ts";
import type { ExperimentConfig } from "../schema/experiment.ts";
import type { TranscriptCall } from "../schema/grader.ts";
import type { HostPlatform } from "../schema/platform.ts";
import type { Store } from "../schema/store.ts";
import { nodeRunHost } from "./node_run_host.ts";
import { openSession } from "./session/session.ts";

/** An evaluation of one model on an experiment's held-out tasks. */
export interface EvaluationRequest {
  readonly config: ExperimentConfig;
  readonly configFolder: string;
  readonly modelFolder: string;
  /** Samples per task. */
  readonly samples: number;
  /** Default false: what its agents asked and were answered is gone with the evaluation. */
  readonly keepsCalls?: boolean;
  readonly signal: AbortSignal;
  progress(finished: number, total: number): void;
  say(line: string): void;
}

/** Results of an evaluation and where it ran. */
export interface Evaluated {
  readonly results: readonly TaskResult[];
  readonly adapter: string;
  /** Rollouts that failed or asked their model nothing, by cause: they count as reward 0. */
  readonly failures: readonly FailureCount[];
  /** By task, the calls of its first sample, for a request that keeps them. */
  readonly calls: readonly (readonly TranscriptCall[])[];
}

/** What rollouts of an evaluation are named after. */
const label = "eval";

/** The calls of a rollout's deciding attempt. */
async function callsOf(store: Store, id: string): Promise<TranscriptCall[]> {
  const attempt = (await store.rollout(id))?.status.last_attempt_id ?? "0";
  return transcript(await store.events(id, attempt));
}

/**
 * Runs the agent on the held-out tasks (`eval.tasks` of them, 0 for all). Every evaluation with the same seed and
 * samples draws with the same random numbers, so that models can be compared task by task.
 */
export async function evaluateModel(platform: HostPlatform, request: EvaluationRequest): Promise<Evaluated> {
  const { config, configFolder, modelFolder, samples, signal, progress, say } = request;
  const logs = await platform.files.makeTempFolder("leyden-eval-");
  const session = await openSession(nodeRunHost(platform), {
    config,
    configFolder,
    runFolder: logs,
    modelFolder,
    optimizerFolder: "",
    version: 0,
    train: false,
    store: "memory",
    say,
  });
  try {
    const { store, rolloutConfig, hooks, dataset, engine } = session;
    const tasks = config.eval.tasks === 0 ? dataset.heldOut : dataset.heldOut.slice(0, config.eval.tasks);
    const deps = { store, clock: platform.clock, rolloutConfig, hooks, signal, progress };
    const results = await evaluate(deps, label, tasks, samples);
    const ids = request.keepsCalls === true ? tasks.map((_, i) => `${label}-t${i}-s0`) : [];
    const calls = await Promise.all(ids.map((id) => callsOf(store, id)));
    const groups = tasks.map((task, i) => nameGroup(`${label}-t${i}`, task, samples));
    const failures = await countFailures(store, groups);
    return { results, adapter: (await engine.info()).adapter, calls, failures };
  } finally {
    await session.close();
    await platform.files.remove(logs);
  }
}
