import { openDevice } from "../gpu/device.ts";
import { ModelFolder } from "../io/model_folder.ts";
import { Model } from "../model/model.ts";
import type { Platform } from "../schema/platform.ts";

/**
 * A model folder on a fresh device; closing the device frees everything.
 * @throws EnvironmentError "no_adapter"; FormatError naming what does not fit
 */
export async function openModel(platform: Platform, folder: string): Promise<Model> {
  const weights = await ModelFolder.open(platform.files, folder);
  const device = await openDevice(await platform.gpu());
  try {
    return await Model.load(device, weights.config, weights);
  } catch (error) {
    device.close();
    throw error;
  }
}
