import { openEngine } from "../app/open_engine.ts";
import { deriveKey, seedKey } from "../core/rng.ts";
import type { GenerateResult } from "../schema/engine.ts";
import type { Platform } from "../schema/platform.ts";
import type { Args } from "./args.ts";
import { UsageError } from "./args.ts";
import type { Command, CommandContext } from "./command.ts";
import { modelFolderOf } from "./model_place.ts";
import { type ModelText, readModelText, tokenizerOf } from "./model_text.ts";
import { samplingOf, seedOf, temperatureOptions } from "./sampling_options.ts";
import { singleSequence } from "./single_sequence.ts";
import { parseTokenIds } from "./token_ids.ts";

/** `leyden generate`: a prompt and its continuation. */
export const command: Command = {
  name: "generate",
  summary: "Continues a prompt: prints it and what the model adds.",
  options: {
    model: { kind: "text", value: "DIR", summary: "Model folder, checkpoint, or run (its newest checkpoint)." },
    prompt: { kind: "text", value: "TEXT", summary: "Text to continue, special tokens in it matched; may be empty." },
    "prompt-ids": { kind: "text", value: "1,2,...", summary: "Token ids to continue, exactly these." },
    tokens: { kind: "integer", value: "N", summary: "Most tokens to add.", fallback: 128, min: 1 },
    greedy: { kind: "flag", summary: "Take the likeliest token each time." },
    ...temperatureOptions(1),
    ids: { kind: "flag", summary: "Print token ids, with commas, instead of text." },
    "ignore-eos": { kind: "flag", summary: "Go on after a token that ends a text." },
  },
  run: generate,
};

async function generate(context: CommandContext): Promise<number> {
  const { args, platform } = context;
  const folder = await modelFolderOf(platform.files, args.requireText("model"));
  const text = await readModelText(platform.files, folder);
  const promptIds = promptOf(args, text);
  const stopIds = args.flag("ignore-eos") ? [] : text.stopIds;
  const seed = seedOf(args, platform.entropy);
  const result = await draw(platform, args, { folder, promptIds, stopIds, seed });
  const all = [...promptIds, ...result.ids];
  if (context.json) {
    context.printJson({
      prompt_ids: promptIds,
      ids: [...result.ids],
      logprobs: [...result.logprobs],
      text: text.tokenizer === null ? null : readable(text, all, result),
      finish_reason: result.finishReason,
      seed: args.flag("greedy") ? null : seed,
    });
    return 0;
  }
  if (text.tokenizer === null && !args.flag("ids")) context.note(`${folder} has no tokenizer.json: these are ids.`);
  context.print(args.flag("ids") || text.tokenizer === null ? all.join(",") : readable(text, all, result));
  return 0;
}

/** @throws UsageError unless there is exactly one prompt; FormatError "tokenizer_missing" for a text without one */
function promptOf(args: Args, text: ModelText): number[] {
  const prompt = args.text("prompt");
  const ids = args.text("prompt-ids");
  if ((prompt === undefined) === (ids === undefined)) {
    throw new UsageError("leyden generate needs --prompt or --prompt-ids, and not both.", {
      do: "Pass --prompt TEXT or --prompt-ids 1,2,3.",
    });
  }
  if (prompt === undefined) return parseTokenIds("prompt-ids", ids as string);
  const encoded = tokenizerOf(text).encode(prompt, { addSpecial: true });
  if (encoded.length > 0) return encoded;
  throw new UsageError("The prompt is empty, and this model has no token for the beginning of a text.", {
    do: "Pass a prompt of at least one token.",
  });
}

interface Draw {
  readonly folder: string;
  readonly promptIds: readonly number[];
  readonly stopIds: readonly number[];
  readonly seed: number;
}

async function draw(platform: Platform, args: Args, d: Draw): Promise<GenerateResult> {
  const sampling = samplingOf(args);
  const maxTokens = args.requireNumber("tokens");
  const options = await singleSequence(platform.files, d.folder, d.promptIds.length + maxTokens);
  const engine = await openEngine(platform, options);
  try {
    return await engine.generate({
      id: "generate",
      promptIds: Int32Array.from(d.promptIds),
      maxTokens,
      sampling,
      key: deriveKey(seedKey(d.seed), "generate"),
      stopIds: d.stopIds,
      stopStrings: [],
    });
  } finally {
    await engine.close();
  }
}

/** Prompt and continuation as text: no special tokens, nor the one that ended it. */
function readable(text: ModelText, ids: readonly number[], { finishReason }: GenerateResult): string {
  const shown = finishReason === "stop" ? ids.slice(0, -1) : ids;
  return tokenizerOf(text).decode(shown, { skipSpecial: true });
}
