import { readTokenizerFiles } from "../io/tokenizer_folder.ts";
import { Scorer } from "../model/scorer.ts";
import { Tokenizer } from "../text/tokenizer.ts";
import { UsageError } from "./args.ts";
import type { Command, CommandContext } from "./command.ts";
import { modelFolderOf } from "./model_place.ts";
import { openModel } from "./open_model.ts";
import { scoreWindows } from "./score_windows.ts";
import { parseTokenIds } from "./token_ids.ts";

/** `leyden score`: log-probabilities of given tokens or of a text. */
export const command: Command = {
  name: "score",
  summary: "Prints the log-probability of every token of a text.",
  options: {
    model: { kind: "text", value: "DIR", summary: "Model folder, run or checkpoint." },
    ids: { kind: "text", value: "1,2,...", summary: "Token ids." },
    "text-file": { kind: "text", value: "FILE", summary: "Text, encoded with the model's tokenizer." },
    temperature: { kind: "number", value: "T", summary: "Divides the logits.", fallback: 1, min: 1e-3 },
  },
  run: runScore,
};

async function runScore(context: CommandContext): Promise<number> {
  const { args, platform } = context;
  const folder = await modelFolderOf(platform.files, args.requireText("model"));
  const ids = await tokenIds(context, folder);
  const model = await openModel(platform, folder);
  const { contextLength, vocabSize } = model.description;
  const bad = ids.find((id) => id >= vocabSize);
  if (bad !== undefined) {
    throw new UsageError(`Token id ${bad} is outside this model's vocabulary of ${vocabSize}.`, {
      do: "Encode with the tokenizer of this model.",
    });
  }
  const scorer = new Scorer(model, Math.min(contextLength, Math.max(1, ids.length)));
  const temperature = args.requireNumber("temperature");
  const logprobs = await scoreWindows(Int32Array.from(ids), contextLength, (window) =>
    scorer.score(window, temperature),
  );
  if (ids.length > contextLength) {
    context.note(`The text has ${ids.length} tokens: each was scored with at least ${contextLength >> 1} before it.`);
  }
  const nll = ids.length < 2 ? 0 : -logprobs.reduce((a, b) => a + b, 0) / (ids.length - 1);
  if (context.json) context.printJson({ ids, logprobs: Array.from(logprobs), nll });
  else context.print(`${ids.length} tokens, mean negative log-probability ${nll.toFixed(6)} nats`);
  model.device.close();
  return 0;
}

async function tokenIds({ args, platform }: CommandContext, folder: string): Promise<number[]> {
  const given = args.text("ids");
  const file = args.text("text-file");
  if ((given === undefined) === (file === undefined)) {
    throw new UsageError("leyden score needs --ids or --text-file, and not both.", {
      do: "Pass --ids 1,2,3 or --text-file FILE.",
    });
  }
  if (file !== undefined) {
    const tokenizer = Tokenizer.load(await readTokenizerFiles(platform.files, folder));
    return tokenizer.encode(await platform.files.readText(file), { addSpecial: true });
  }
  return parseTokenIds("ids", given ?? "");
}
