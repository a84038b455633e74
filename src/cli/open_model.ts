import { openDecoder } from "../engine/open_decoder.ts";
import { openDevice } from "../gpu/device.ts";
import { deviceOptions } from "../gpu/device_options.ts";
import type { Policy } from "../model/policy.ts";
import type { Platform } from "../schema/platform.ts";

/**
 * A model folder, or a PEFT folder, on a fresh device; closing the device frees everything.
 * @throws EnvironmentError "no_adapter"; FormatError naming what does not fit
 */
export async function openModel(platform: Platform, folder: string): Promise<Policy> {
  const device = await openDevice(await platform.gpu(), deviceOptions(platform.env));
  try {
    return await openDecoder(platform.files, device, folder);
  } catch (error) {
    device.close();
    throw error;
  }
}
