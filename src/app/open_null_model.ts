import type { ServedModel } from "../../gateway/deps.ts";
import { NullEngine } from "../engine/null_engine.ts";
import { modelPlace } from "../io/adapter_base.ts";
import { parseHfConfig } from "../io/hf_config.ts";
import { readJson } from "../io/json_file.ts";
import { readTokenizerFiles } from "../io/tokenizer_folder.ts";
import { familyOf } from "../model/families/registry.ts";
import type { Platform } from "../schema/platform.ts";
import { openCodec } from "./open_codec.ts";
import { tokenizerIds } from "./tokenizer_ids.ts";

/**
 * The null policy over a model folder's tokenizer and context length; its weights are not read. It draws every id that
 * is ordinary text, `replyTokens` to a reply.
 * @throws FormatError when the folder's config.json or tokenizer cannot be used
 */
export async function openNullModel(
  platform: Platform,
  modelFolder: string,
  replyTokens: number,
): Promise<ServedModel> {
  const { files, clock } = platform;
  const path = files.join((await modelPlace(files, modelFolder)).base, "config.json");
  const config = parseHfConfig(await readJson(files, path), path);
  const { vocabSize, contextLength } = familyOf(config).describe(config);
  const tokenizerFiles = await readTokenizerFiles(files, modelFolder);
  const opened = await openCodec(platform, modelFolder);
  const { format } = opened;
  const control = new Set(format.tokenizer.addedTokens.map(({ id }) => id));
  const count = Math.min(vocabSize, tokenizerIds(tokenizerFiles.tokenizer));
  const ids = Int32Array.from({ length: count }, (_, id) => id).filter((id) => !control.has(id));
  const [stopId] = format.stopIds;
  const engine = new NullEngine({ clock, vocabSize, contextLength, ids, stopId, replyTokens });
  engine.close = async () => {
    await NullEngine.prototype.close.call(engine);
    await opened.close();
  };
  const { codec, tokenText, tokenBytes } = opened;
  return { engine, codec, policy: "null", tokenText, tokenBytes };
}
