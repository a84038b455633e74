import { modelTextFiles } from "../app/model_text_files.ts";
import { type MemoryPlan, planMemory } from "../engine/memory_plan.ts";
import { readTokenizerFiles } from "../io/tokenizer_folder.ts";
import { defaultBudgetBytes } from "../model/memory_budget.ts";
import { Tokenizer } from "../text/tokenizer.ts";
import { runSft, type SftSchedule, type SftStep } from "../train/sft.ts";
import { Trainer } from "../train/trainer.ts";
import type { Command, CommandContext } from "./command.ts";
import { openSftDataset } from "./sft_data.ts";
import { checkSftOptions, openSftPolicy, type SftPolicy } from "./sft_policy.ts";

/** `leyden sft`: supervised fine-tuning, of a checkpoint or from random weights. */
export const command: Command = {
  name: "sft",
  summary: "Trains a model on given texts (supervised fine-tuning).",
  options: {
    model: { kind: "text", value: "DIR", summary: "Model folder; with --init only its config.json and tokenizer." },
    data: { kind: "text", value: "FILE", summary: "Examples: .jsonl, or MODULE.ts#NAME exporting a dataset." },
    out: { kind: "text", value: "DIR", summary: "Where the trained model and its record go." },
    init: { kind: "flag", summary: "Start from random weights." },
    std: { kind: "number", value: "X", summary: "With --init: deviation of matrices (default: the config's).", min: 0 },
    "embedding-std": { kind: "number", value: "X", summary: "With --init: deviation of embeddings.", min: 0 },
    "lora-rank": {
      kind: "integer",
      value: "R",
      summary: "Train a LoRA adapter beside frozen weights and save a PEFT folder.",
      min: 1,
    },
    "lora-alpha": { kind: "number", value: "X", summary: "With --lora-rank: its alpha (default: 2 R).", min: 0 },
    "lora-target": {
      kind: "list",
      value: "NAME",
      summary: "With --lora-rank: a linear layer that gets a pair (default: all).",
    },
    weights: {
      kind: "text",
      summary: "With --lora-rank: how the frozen weights are held.",
      choices: ["f32", "f16", "int8"],
    },
    steps: { kind: "integer", value: "N", summary: "Optimizer steps.", fallback: 100, min: 1 },
    batch: { kind: "integer", value: "N", summary: "Examples per step.", fallback: 16, min: 1 },
    "learning-rate": { kind: "number", value: "X", summary: "Highest learning rate.", fallback: 1e-3, min: 0 },
    warmup: { kind: "integer", value: "N", summary: "Steps of linear warm-up.", fallback: 50, min: 0 },
    final: {
      kind: "number",
      value: "X",
      summary: "Last learning rate as a share of the highest.",
      fallback: 0.1,
      min: 0,
    },
    "weight-decay": { kind: "number", value: "X", summary: "Decoupled weight decay.", fallback: 0.01, min: 0 },
    beta1: { kind: "number", value: "X", summary: "Decay of the first moment.", fallback: 0.9, min: 0 },
    beta2: { kind: "number", value: "X", summary: "Decay of the second moment.", fallback: 0.95, min: 0 },
    "max-grad-norm": { kind: "number", value: "X", summary: "Gradient clipping; 0 turns it off.", fallback: 1, min: 0 },
    "micro-batch-tokens": {
      kind: "integer",
      value: "N",
      summary: "Tokens computed at once (default: as fit).",
      min: 1,
    },
    seed: { kind: "integer", value: "N", summary: "Seed of the weights, the data and its order.", fallback: 1, min: 0 },
  },
  run: runSftCommand,
};

async function runSftCommand(context: CommandContext): Promise<number> {
  const { args, platform } = context;
  const { files, clock } = platform;
  const [folder, data, out] = ["model", "data", "out"].map((name) => args.requireText(name)) as [
    string,
    string,
    string,
  ];
  checkSftOptions(args);
  const schedule = scheduleOf(context);
  const tokenizer = Tokenizer.load(await readTokenizerFiles(files, folder));
  const dataset = await openSftDataset(files, data, { encode: (text) => tokenizer.encode(text), seed: schedule.seed });
  const trained = await openSftPolicy(context, folder, schedule.seed);
  const { device } = trained.model;
  const trainer = new Trainer(trained.policy, { clock, ...trainerSizes(context, trained) });
  const started = clock.monotonic();
  const losses: number[] = [];
  platform.terminal.outliveReader();
  const report = (step: SftStep): void => {
    losses.push(step.loss);
    reportStep(context, schedule, step);
  };
  await runSft(trainer, dataset, schedule, report, context.stopSignal());
  const textFiles = await modelTextFiles(files, folder);
  await trained.save(out);
  for (const [name, bytes] of Object.entries(textFiles)) await files.write(files.join(out, name), bytes);
  const record = {
    data,
    examples: dataset.size,
    schedule,
    loss: losses.at(-1),
    losses,
    skipped: trainer.skippedSteps,
    seconds: (clock.monotonic() - started) / 1000,
    adapter: device.caps.adapter,
    weights_sha256: await trained.sha256(),
  };
  await files.write(files.join(out, "sft.json"), `${JSON.stringify(record, null, 2)}\n`);
  const { losses: _, ...last } = record;
  if (context.json) context.printJson({ out, ...last });
  else context.print(`Saved ${out} after ${schedule.steps} steps, loss ${record.loss?.toFixed(4)}.`);
  device.close();
  return 0;
}

function scheduleOf({ args }: CommandContext): SftSchedule {
  return {
    steps: args.requireNumber("steps"),
    batchRows: args.requireNumber("batch"),
    learningRate: args.requireNumber("learning-rate"),
    warmupSteps: args.requireNumber("warmup"),
    finalShare: args.requireNumber("final"),
    optimizer: {
      beta1: args.requireNumber("beta1"),
      beta2: args.requireNumber("beta2"),
      eps: 1e-8,
      weightDecay: args.requireNumber("weight-decay"),
      maxGradNorm: args.requireNumber("max-grad-norm"),
    },
    seed: args.requireNumber("seed"),
  };
}

/** How a step fits into memory. */
function trainerSizes(
  { args }: CommandContext,
  { model: { config, device, type: weights }, adapter }: SftPolicy,
): Pick<MemoryPlan, "microBatchTokens" | "recomputedLayers"> {
  const { caps } = device;
  const microBatchTokens = args.number("micro-batch-tokens");
  return planMemory({
    ...{ caps, config, weights, training: { reference: false }, inference: null },
    adapters: adapter === null ? [] : [{ name: adapter.name, lora: adapter.config }],
    ...{ budgetBytes: defaultBudgetBytes(caps.deviceClass), otherBytes: 0, kvTokens: 0 },
    ...(microBatchTokens === undefined ? {} : { microBatchTokens }),
  });
}

function reportStep(context: CommandContext, schedule: SftSchedule, step: SftStep): void {
  const { loss, gradNorm, skipped, tokens, trainMs, learningRate } = step;
  if (context.json) {
    context.printJson({
      step: step.step,
      loss,
      grad_norm: gradNorm,
      learning_rate: learningRate,
      tokens,
      ms: trainMs,
      skipped,
    });
    return;
  }
  if (step.step % 10 !== 0 && step.step !== 1 && step.step !== schedule.steps && skipped === null) return;
  const note = skipped === null ? "" : `  skipped: ${skipped}`;
  context.print(`step ${step.step}/${schedule.steps}  loss ${loss.toFixed(4)}  norm ${gradNorm.toFixed(3)}${note}`);
}
