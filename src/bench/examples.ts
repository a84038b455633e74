import { fileURLToPath } from "node:url";
import { pathFrom } from "../app/config_paths.ts";
import { evaluateModel } from "../app/evaluate_model.ts";
import { loadConfig } from "../app/load_config.ts";
import { runExperiment } from "../app/run_experiment.ts";
import { EnvironmentError } from "../core/errors.ts";
import { seedKey } from "../core/rng.ts";
import type { MetricsLine } from "../experiment/run_folder.ts";
import { summarizeSuccess } from "../experiment/success.ts";
import type { ExperimentConfig } from "../schema/experiment.ts";
import { measureDigits } from "./digits_run.ts";
import type { BenchContext, FactValue, Measurement, Suite } from "./suite.ts";

/** A whole run: an example, how its rollouts become rows, and a seed. */
interface ExampleRun {
  readonly name: string;
  readonly example: string;
  readonly view: ExperimentConfig["train"]["view"];
  readonly seed: number;
}

const exampleNames = ["vault", "team"];
/** "linear" is Agent Lightning's trajectory view. */
const views = { tree: "trie", linear: "trajectory" } as const;
const seeds = [1, 2, 3];

const runs: readonly ExampleRun[] = exampleNames.flatMap((example) =>
  Object.entries(views).flatMap(([name, view]) =>
    seeds.map((seed) => ({ name: `${example}_${name}_s${seed}`, example, view, seed })),
  ),
);

/** Metrics summed, and averaged, over a run's updates. */
const summed = {
  rows: "training/n_sample",
  trained_tokens: "training/n_tokens_trained",
  computed_tokens: "training/n_tokens_computed",
  calls: "training/n_calls",
  rollouts: "training/n_rollouts",
  update_s: "timing_s/update_actor",
  rollout_s: "timing_s/gen",
} as const;
const averaged = {
  rows_per_rollout: "training/rows_per_rollout",
  signed_mass: "training/signed_mass",
} as const;
/** Metrics whose largest value counts. */
const largest = {
  logprob_diff: "training/logprob_diff_max",
  logprob_diff_mixed: "training/logprob_diff_max_mixed",
  logprob_diff_constrained: "training/logprob_diff_max_constrained",
} as const;

/** Held-out success of the examples before and after training, from the tree and from linear rows. */
export const examplesSuite: Suite = {
  name: "examples",
  summary:
    "whole training runs of examples/vault and examples/team, on the tree and on linear rows, three seeds each; only when named: digits",
  choices: [...runs.map(({ name }) => name), "digits"],
  async *run(context) {
    const chosen = runs.filter(({ name }) => context.only.length === 0 || context.only.includes(name));
    for (const run of chosen) yield await measure(context, run);
    // Hours on a software adapter.
    if (context.only.includes("digits")) yield await measureDigits(context);
  },
};

/** @throws EnvironmentError "no_clone" where the examples are not there */
async function measure(context: BenchContext, { name, example, view, seed }: ExampleRun): Promise<Measurement> {
  const { platform, clock, note } = context;
  const { files } = platform;
  const path = fileURLToPath(new URL(`../../examples/${example}`, import.meta.url));
  if (!(await files.exists(path))) {
    throw new EnvironmentError("no_clone", `There is no ${path}.`, { do: "Run it in a clone of the repository." });
  }
  const { config, folder } = await loadConfig(files, path, [`train.view=${view}`, `seed=${seed}`]);
  const shared = { config, configFolder: folder, signal: new AbortController().signal, say: note };
  const successOf = async (modelFolder: string): Promise<number> => {
    const { results } = await evaluateModel(platform, {
      ...shared,
      modelFolder,
      samples: 1,
      progress: () => undefined,
    });
    return summarizeSuccess(results, seedKey(seed)).pass1;
  };
  const before = await successOf(pathFrom(files, folder, config.model.path));
  const lines: MetricsLine[] = [];
  const runFolder = await files.makeTempFolder(`leyden-${name}-`);
  try {
    const start = clock.monotonic();
    const reporter = {
      rollouts: ignore,
      failures: ignore,
      validation: ignore,
      update: (line: MetricsLine) => void lines.push(line),
    };
    const { updates, adapter } = await runExperiment(platform, { ...shared, runFolder, resume: false, reporter });
    const samples = [clock.monotonic() - start];
    const after = await successOf(files.join(runFolder, "checkpoints", `step_${updates}`));
    return { name, samples, facts: { ...factsOf(lines), before, after, seed, view, updates, adapter } };
  } finally {
    await files.remove(runFolder);
  }
}

function ignore(): void {}

function factsOf(lines: readonly MetricsLine[]): Record<string, FactValue> {
  const values = (metric: string): number[] => lines.map((line) => Number(line[metric] ?? 0));
  const sum = (metric: string): number => values(metric).reduce((a, b) => a + b, 0);
  // An update that trained no token measured none.
  const entropies = lines.flatMap((line) => line["actor/entropy"] ?? []).map(Number);
  const facts: Record<string, FactValue> = {};
  for (const [fact, metric] of Object.entries(summed)) facts[fact] = sum(metric);
  for (const [fact, metric] of Object.entries(averaged)) facts[fact] = sum(metric) / Math.max(1, lines.length);
  for (const [fact, metric] of Object.entries(largest)) facts[fact] = Math.max(0, ...values(metric));
  return { ...facts, entropy_first: entropies[0] ?? 0, entropy_last: entropies.at(-1) ?? 0 };
}
