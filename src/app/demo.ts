import { seedKey } from "../core/rng.ts";
import type { FailureCount } from "../experiment/failures.ts";
import type { LoopReporter } from "../experiment/loop.ts";
import { type SuccessSummary, summarizeSuccess } from "../experiment/success.ts";
import type { TranscriptCall } from "../schema/grader.ts";
import type { HostPlatform } from "../schema/platform.ts";
import { pathFrom } from "./config_paths.ts";
import { type Evaluated, evaluateModel } from "./evaluate_model.ts";
import { loadConfig } from "./load_config.ts";
import { runExperiment } from "./run_experiment.ts";
import { watchedRun } from "./watched_run.ts";

/** What the demo is asked for. */
export interface DemoRequest {
  readonly configPath: string;
  readonly seed: number;
  readonly runFolder: string;
  readonly overrides: readonly string[];
  readonly signal: AbortSignal;
  readonly reporter: LoopReporter;
  /** A phase begins. */
  phase(text: string): void;
  /** The base model, or the trained one, has been measured. */
  measured(summary: SuccessSummary, failures: readonly FailureCount[]): void;
  progress(finished: number, total: number): void;
  say(line: string): void;
  /** The demo is stopped in its page. */
  stop(): void;
}

/** What the agent did with one task. */
export interface DemoAttempt {
  readonly calls: readonly TranscriptCall[];
  readonly reward: number;
}

/** One held-out task before and after. */
export interface DemoExample {
  readonly task: string;
  readonly before: DemoAttempt;
  readonly after: DemoAttempt;
}

/** The demo's last line. */
export interface DemoResult {
  /** Folder of the training run. */
  readonly run: string;
  /** A task that the agent has learnt, if there is one; null without held-out tasks. */
  readonly example: DemoExample | null;
  /** Held-out success of the base model and of the trained one, with 95 % intervals over tasks. */
  readonly before: number;
  readonly after: number;
  readonly before_ci: readonly [number, number];
  readonly after_ci: readonly [number, number];
  readonly pass8_before: number;
  readonly tasks: number;
  readonly updates: number;
  /** From the opening of the trained model to its last checkpoint. */
  readonly training_seconds: number;
  /** Both measurements and the training. */
  readonly seconds: number;
  readonly seed: number;
  readonly adapter: string;
  readonly weights_sha256: string;
}

/** Samples per held-out task: eight before, for pass@8; fewer after, where one number is wanted. */
const samples = { before: 8, after: 2 };

/** Measures the base model, trains it with the real agent, and measures again on the same tasks and draws. */
export async function runDemo(platform: HostPlatform, request: DemoRequest): Promise<DemoResult> {
  const startMs = platform.clock.monotonic();
  const { files } = platform;
  const overrides = [...request.overrides, `seed=${request.seed}`];
  const { config, folder } = await loadConfig(files, request.configPath, overrides);
  const measure = async (modelFolder: string, count: number): Promise<Evaluated & { summary: SuccessSummary }> => {
    const asked = { ...request, config, configFolder: folder, modelFolder, samples: count, keepsCalls: true };
    const evaluated = await evaluateModel(platform, asked);
    const summary = summarizeSuccess(evaluated.results, seedKey(request.seed));
    request.measured(summary, evaluated.failures);
    return { ...evaluated, summary };
  };
  request.phase(`Before: the base model on the held-out tasks, each ${samples.before} times`);
  const base = await measure(pathFrom(files, folder, config.model.path), samples.before);
  request.phase("Training: the same agent, its model updated after every batch of rollouts");
  const run = await runExperiment(platform, {
    ...request,
    ...watchedRun(platform, { ...request, config, configFolder: folder }),
    config,
    configFolder: folder,
    resume: false,
    tellsStartup: false,
  });
  request.phase(`After: the trained model on the same tasks, each ${samples.after} times`);
  const trained = await measure(files.join(request.runFolder, "checkpoints", `step_${run.updates}`), samples.after);
  const [before, after] = [base.summary, trained.summary];
  return {
    run: run.run,
    example: exampleOf(base, trained),
    before: before.pass1,
    after: after.pass1,
    before_ci: before.ci95,
    after_ci: after.ci95,
    pass8_before: before.passk,
    tasks: before.tasks,
    updates: run.updates,
    training_seconds: run.seconds,
    seconds: (platform.clock.monotonic() - startMs) / 1000,
    seed: request.seed,
    adapter: run.adapter,
    weights_sha256: run.weights_sha256,
  };
}

/** The first task whose first sample failed before and succeeded after; without one, one that succeeds after, or any. */
export function exampleOf(
  before: Pick<Evaluated, "results" | "calls">,
  after: Pick<Evaluated, "results" | "calls">,
): DemoExample | null {
  const attempts = ({ results, calls }: typeof before): DemoAttempt[] =>
    results.map(({ rewards }, i) => ({ calls: calls[i] ?? [], reward: rewards[0] ?? 0 }));
  const [then, now] = [attempts(before), attempts(after)];
  const isSolved = ({ reward }: DemoAttempt): boolean => reward > 0.5;
  const pairs = before.results.flatMap(({ task }, i): DemoExample[] => {
    const [one, other] = [then[i], now[i]];
    return one === undefined || other === undefined ? [] : [{ task, before: one, after: other }];
  });
  const learnt = pairs.find((pair) => isSolved(pair.after) && !isSolved(pair.before));
  return learnt ?? pairs.find((pair) => isSolved(pair.after)) ?? pairs[0] ?? null;
}
