import { fileURLToPath } from "node:url";
import { loadConfig } from "../app/load_config.ts";
import { runExperiment } from "../app/run_experiment.ts";
import { EnvironmentError } from "../core/errors.ts";
import type { MetricsLine } from "../experiment/run_folder.ts";
import type { BenchContext, FactValue, Measurement } from "./suite.ts";

/** The criterion of the check that the example is taken from: the mean of a batch. */
const passingReward = 0.2;

/** What the last update's line says of it, under names of this suite. */
const atEnd = {
  last_batch: "training/reward",
  held_out: "val/reward",
  reply_tokens: "response_length/training/avg_by_turn",
  entropy_last: "actor/entropy",
  explained_variance: "critic/vf_explained_var",
} as const;

/**
 * Trains examples/digits to its end, which takes most of an hour on a software adapter: with a state folder a run that was
 * stopped goes on, and one that has ended is read. @throws EnvironmentError "no_clone" where the examples are not there
 */
export async function measureDigits({ platform, state, note }: BenchContext): Promise<Measurement> {
  const { files } = platform;
  const path = fileURLToPath(new URL("../../examples/digits", import.meta.url));
  if (!(await files.exists(path))) {
    throw new EnvironmentError("no_clone", `There is no ${path}.`, { do: "Run it in a clone of the repository." });
  }
  const { config, folder: configFolder } = await loadConfig(files, path, []);
  const runFolder = state === null ? await files.makeTempFolder("leyden-digits-") : files.join(state, "digits");
  const reporter = { rollouts: ignore, failures: ignore, validation: ignore, update: progressOf(note) };
  try {
    const resume = await files.exists(files.join(runFolder, "config.json"));
    const { signal } = new AbortController();
    const request = { config, configFolder, runFolder, resume, signal, reporter, say: note };
    const { updates, adapter } = await runExperiment(platform, request);
    const text = await files.readText(files.join(runFolder, "metrics.jsonl"));
    const lines = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as MetricsLine);
    return { name: "digits", ...digitsFacts(lines, { updates, adapter, seed: config.seed }) };
  } finally {
    if (state === null) await files.remove(runFolder);
  }
}

/** What a run's metrics come to: the time of all its updates, and how far they got. */
export function digitsFacts(
  lines: readonly MetricsLine[],
  more: Readonly<Record<string, FactValue>>,
): Pick<Measurement, "samples" | "facts"> {
  const rewards = lines.map((line) => Number(line["training/reward"]));
  const passed = rewards.findIndex((reward) => reward > passingReward);
  const differences = lines.flatMap((line) => line["training/logprob_diff_max"] ?? []).map(Number);
  const last = Object.entries(atEnd).map(([fact, metric]) => [fact, lines.at(-1)?.[metric] ?? null] as const);
  return {
    samples: [1000 * lines.reduce((sum, line) => sum + Number(line["timing_s/step"] ?? 0), 0)],
    facts: {
      best_batch: Math.max(...rewards),
      passed_at: passed < 0 ? null : Number(lines[passed]?.step),
      ...(Object.fromEntries(last) as Record<string, FactValue>),
      logprob_diff: differences.length === 0 ? null : Math.max(...differences),
      ...more,
    },
  };
}

function progressOf(note: (line: string) => void): (line: MetricsLine) => void {
  return (line) => note(`  digits, update ${line.step}: mean reward ${Number(line["training/reward"]).toFixed(3)}`);
}

function ignore(): void {}
