import { initModel } from "../app/init_model.ts";
import { type ModelPreset, modelPresets } from "../app/model_presets.ts";
import type { Command, CommandContext } from "./command.ts";
import { counted } from "./counted.ts";
import { requireEmptyFolder } from "./target_folder.ts";

const presets = Object.entries(modelPresets).map(([name, { summary }]) => `${name} (${summary})`);

/** `leyden init-model`: a model folder with random weights. */
export const command: Command = {
  name: "init-model",
  summary: "Writes a model folder with random weights for a tokenizer.",
  positionals: { usage: "OUT", min: 1, max: 1 },
  options: {
    preset: {
      kind: "text",
      summary: `Shape of the model: ${presets.join("; ")}.`,
      choices: Object.keys(modelPresets),
      fallback: "tiny",
    },
    tokenizer: { kind: "text", value: "DIR", summary: "Folder with tokenizer.json and, where it has one, a template." },
    seed: { kind: "integer", value: "N", summary: "Seed of the weights.", fallback: 1, min: 0 },
    force: { kind: "flag", summary: "Write into a folder that is not empty, replacing the model there." },
  },
  run: runInitModel,
};

async function runInitModel({ args, platform, json, note, print, printJson }: CommandContext): Promise<number> {
  const { files } = platform;
  const out = args.positionals[0] as string;
  const tokenizer = args.requireText("tokenizer");
  const preset = args.requireText("preset");
  const seed = args.requireNumber("seed");
  await requireEmptyFolder(files, out, args.flag("force"));
  const shape = modelPresets[preset] as ModelPreset;
  const { parameters, vocabSize, stopIds } = await initModel(files, { preset: shape, tokenizer, out, init: { seed } });
  if (stopIds.length === 0) {
    note("The tokenizer has no token that ends a turn: replies of this model end at the longest length only.");
  }
  if (json) printJson({ out, preset, seed, parameters, vocab_size: vocabSize, stop_ids: stopIds });
  else print(`Wrote ${out}: preset ${preset}, ${counted(parameters, "parameter")}, ${counted(vocabSize, "token")}.`);
  return 0;
}
