import { fileURLToPath } from "node:url";
import type { ServedModel } from "../../../gateway/deps.ts";
import type { Platform } from "../../schema/platform.ts";
import type { ReplySource } from "../../schema/script.ts";
import { initModel } from "../init_model.ts";
import { type ModelPreset, modelPresets } from "../model_presets.ts";
import { openServedModel } from "../open_served_model.ts";

/** The tokenizer that the tiny model comes with. */
const tokenizer = fileURLToPath(new URL("../../../examples/trial/model", import.meta.url));

/**
 * The model of a trial: a tiny one made in `scratch`, with room for the long prompts of real agents, or that of a
 * folder. `script` writes its replies; without one it draws them itself.
 * @throws FormatError for the folder's files; EnvironmentError "no_adapter"
 */
export async function openTrialModel(
  platform: Platform,
  { folder, scratch, script }: { folder: string | undefined; scratch: string; script: ReplySource | null },
): Promise<ServedModel> {
  if (folder === undefined) {
    const preset = modelPresets.scripted as ModelPreset;
    await initModel(platform.files, { preset, tokenizer, out: scratch, init: { seed: 1 } });
  }
  const served = await openServedModel(platform, folder ?? scratch);
  return script === null ? served : { ...served, script };
}
