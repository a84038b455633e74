import type { ServedModel } from "../../gateway/deps.ts";
import type { EngineOptions } from "../engine/engine_options.ts";
import type { Platform } from "../schema/platform.ts";
import type { ChatFormat } from "../text/chat_format.ts";
import { openCodec } from "./open_codec.ts";
import { openEngine } from "./open_engine.ts";

/**
 * A model folder for a gateway: its chat format, and its weights in an engine of their own. Closing the engine closes
 * both.
 * @throws LeydenError when the folder cannot be used or there is no adapter
 */
export async function openServedModel(
  platform: Platform,
  modelFolder: string,
  options: Partial<EngineOptions> = {},
): Promise<ServedModel & { format: ChatFormat }> {
  const { codec, format, tokenText, tokenBytes, close: closeCodec } = await openCodec(platform, modelFolder);
  try {
    const engine = await openEngine(platform, { train: false, ...options, modelFolder });
    const closeEngine = engine.close;
    engine.close = async () => {
      await closeEngine();
      await closeCodec();
    };
    return { engine, codec, format, tokenText, tokenBytes };
  } catch (thrown) {
    await closeCodec();
    throw thrown;
  }
}
