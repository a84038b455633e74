import { FormatError } from "../core/errors.ts";
import { RunFolder } from "../experiment/run_folder.ts";
import { readTokenizerFiles } from "../io/tokenizer_folder.ts";
import type { Files } from "../schema/files.ts";
import { Tokenizer } from "../text/tokenizer.ts";
import type { CommandContext } from "./command.ts";
import { modelFolderOf } from "./model_place.ts";

/** The store of a run, or a store's own file. @throws FormatError "file_missing" | "store_missing" */
export async function storePath(files: Files, run: string): Promise<string> {
  if (!(await files.exists(run))) {
    throw new FormatError("file_missing", `There is no ${run}.`, { do: "Name a run's folder, or a store's file." });
  }
  const inside = files.join(run, "store.sqlite");
  if (await files.exists(inside)) return inside;
  if (/\.(sqlite|db)$/.test(run)) return run;
  throw new FormatError("store_missing", `${run} holds no store.sqlite.`, {
    do: 'Name a run whose configuration has store.kind "sqlite", or a store\'s file.',
    data: { run },
  });
}

/** Tokenizer of the model named by --model, else of the run's newest checkpoint; null, with a note, without one. */
export async function runTokenizer({ args, platform, note }: CommandContext, run: string): Promise<Tokenizer | null> {
  const { files } = platform;
  const named = args.text("model");
  const checkpoint = named === undefined ? await new RunFolder(files, run).latestCheckpoint() : null;
  const folder = named === undefined ? checkpoint?.folder : await modelFolderOf(files, named);
  if (folder !== undefined && (named !== undefined || (await files.exists(files.join(folder, "tokenizer.json"))))) {
    return Tokenizer.load(await readTokenizerFiles(files, folder));
  }
  note("No checkpoint with a tokenizer yet, so messages are shown instead of tokens; --model DIR names another.");
  return null;
}
