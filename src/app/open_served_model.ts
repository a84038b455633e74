import type { ServedModel } from "../../gateway/deps.ts";
import type { EngineOptions } from "../engine/engine_options.ts";
import { readTokenizerFiles } from "../io/tokenizer_folder.ts";
import type { Platform } from "../schema/platform.ts";
import { ChatFormat } from "../text/chat_format.ts";
import { openEngine } from "./open_engine.ts";

/**
 * A model folder for a gateway: its chat format here, its weights in an engine of their own.
 * @throws LeydenError when the folder cannot be used or there is no adapter
 */
export async function openServedModel(
  platform: Platform,
  modelFolder: string,
  options: Partial<EngineOptions> = {},
): Promise<ServedModel & { codec: ChatFormat }> {
  const files = await readTokenizerFiles(platform.files, modelFolder);
  const codec = ChatFormat.load(files, { date: new Date(platform.clock.now()) });
  const engine = await openEngine(platform, { train: false, ...options, modelFolder });
  return { engine, codec, tokenText: (id) => codec.tokenizer.decode([id], { continuation: true }) };
}
