import { pathFrom } from "../app/config_paths.ts";
import { evaluateModel } from "../app/evaluate_model.ts";
import { loadConfig } from "../app/load_config.ts";
import { seedKey } from "../core/rng.ts";
import type { TaskResult } from "../experiment/evaluation.ts";
import { compareSuccess, type SuccessSummary, summarizeSuccess } from "../experiment/success.ts";
import { UsageError } from "./args.ts";
import type { Command, CommandContext } from "./command.ts";
import { modelFolderOf } from "./model_place.ts";
import { percent } from "./percent.ts";
import { failureLines, LiveTable } from "./progress.ts";

/** `leyden eval`: success of a model, or of two on the same tasks, on an experiment's held-out tasks. */
export const command: Command = {
  name: "eval",
  summary: "Measures a model on an experiment's held-out tasks with the real agent.",
  positionals: { usage: "[A B]", min: 0, max: 2 },
  options: {
    model: {
      kind: "text",
      value: "DIR",
      summary: "Model folder, checkpoint, or run (its newest checkpoint); default: the experiment's model.",
    },
    compare: { kind: "flag", summary: "Compare the models A and B task by task." },
    task: { kind: "text", value: "CONFIG", summary: "Configuration of the experiment." },
    n: { kind: "integer", value: "K", summary: "Samples per task.", fallback: 1, min: 1 },
    tasks: { kind: "integer", value: "N", summary: "Held-out tasks used; 0 means all.", min: 0 },
    temperature: { kind: "number", value: "T", summary: "Temperature; 0 is greedy.", min: 0 },
    seed: { kind: "integer", value: "N", summary: "Seed of the draws.", min: 0 },
    set: { kind: "list", value: "a.b=c", summary: "Overrides one value of the configuration." },
  },
  run: runEval,
};

async function runEval(context: CommandContext): Promise<number> {
  const { args } = context;
  const [a, b] = args.positionals;
  if (!args.flag("compare")) {
    if (a !== undefined) throw new UsageError(`"${a}" is not expected.`, { do: "Pass the model by --model DIR." });
    const { results, summary } = await measure(context, args.text("model"));
    printSummary(context, summary, { ...jsonOf(summary), results });
    return 0;
  }
  if (a === undefined || b === undefined) {
    throw new UsageError("--compare needs two models.", {
      do: "Write: leyden eval --compare A B --task CONFIG",
    });
  }
  const first = await measure(context, a);
  const second = await measure(context, b);
  const difference = compareSuccess(first.results, second.results, seedKey(args.number("seed") ?? 1));
  const { value, low, high, ...rest } = difference;
  const json = { a: jsonOf(first.summary), b: jsonOf(second.summary), difference: value, ci95: [low, high], ...rest };
  if (context.json) context.printJson(json);
  else {
    context.print(`A ${percent(first.summary.pass1)}, B ${percent(second.summary.pass1)}`);
    context.print(`B - A ${percent(value)} (95 %: ${percent(low)} to ${percent(high)})`);
  }
  return 0;
}

async function measure(
  context: CommandContext,
  model: string | undefined,
): Promise<{ results: readonly TaskResult[]; summary: SuccessSummary }> {
  const { args, platform } = context;
  const overrides = [...args.list("set")];
  for (const [option, key] of [
    ["temperature", "eval.temperature"],
    ["tasks", "eval.tasks"],
    ["seed", "seed"],
  ] as const) {
    const value = args.number(option);
    if (value !== undefined) overrides.push(`${key}=${value}`);
  }
  const { config, folder } = await loadConfig(platform.files, args.requireText("task"), overrides);
  const { files } = platform;
  const table = new LiveTable(context);
  const { results, failures } = await evaluateModel(platform, {
    config,
    configFolder: folder,
    modelFolder: await modelFolderOf(files, model ?? pathFrom(files, folder, config.model.path)),
    samples: args.requireNumber("n"),
    signal: context.stopSignal(),
    progress: (finished, total) => table.status(`${finished}/${total} rollouts`),
    say: (line) => {
      table.clear();
      context.note(line);
    },
  }).finally(() => table.clear());
  const rollouts = results.reduce((n, { rewards }) => n + rewards.length, 0);
  for (const line of failureLines(failures, rollouts)) context.note(line);
  return { results, summary: summarizeSuccess(results, seedKey(config.seed)) };
}

function jsonOf(s: SuccessSummary): Record<string, unknown> {
  return { tasks: s.tasks, pass1: s.pass1, passk: s.passk, k: s.k, ci95: s.ci95, reward: s.reward };
}

function printSummary(context: CommandContext, s: SuccessSummary, json: Record<string, unknown>): void {
  if (context.json) {
    context.printJson(json);
    return;
  }
  const [low, high] = s.ci95;
  context.print(`${s.tasks} tasks, pass@1 ${percent(s.pass1)} (95 %: ${percent(low)} to ${percent(high)})`);
  if (s.k > 1) context.print(`pass@${s.k} ${percent(s.passk)}`);
}
