import type { EngineOptions } from "../engine/engine_options.ts";
import { familyOf } from "../model/families/registry.ts";
import { pageTokens } from "../ops/kv_pages.ts";
import type { Files } from "../schema/files.ts";
import { readModelConfig } from "./model_place.ts";

/** Tokens drawn between two readbacks: a sequence alone keeps nobody waiting. */
const burst = 16;
/** Contexts longer than this are given what the memory plan has for them. */
const plannedTokens = 8192;

/**
 * How an engine is opened that serves one sequence at a time, of at most `tokens` tokens: without the memory that the
 * plan sets aside for many.
 * @throws FormatError "model_unsupported" | "model_config" | "config_json"
 */
export async function singleSequence(
  files: Files,
  modelFolder: string,
  tokens: number,
): Promise<Partial<EngineOptions> & Pick<EngineOptions, "modelFolder">> {
  const config = await readModelConfig(files, modelFolder);
  const longest = Math.min(tokens, familyOf(config).describe(config).contextLength);
  const kvTokens = longest > plannedTokens ? 0 : longest + pageTokens;
  return { modelFolder, train: false, maxSequences: 1, kvTokens, burst };
}
