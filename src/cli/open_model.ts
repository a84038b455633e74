import { openDecoder } from "../engine/open_decoder.ts";
import type { Policy } from "../model/policy.ts";
import type { Platform } from "../schema/platform.ts";
import { openHostDevice } from "./open_device.ts";

/**
 * A model folder, or a PEFT folder, on a fresh device; closing the device frees everything.
 * @throws EnvironmentError "no_adapter"; FormatError naming what does not fit
 */
export async function openModel(platform: Platform, folder: string): Promise<Policy> {
  const device = await openHostDevice(platform);
  try {
    return await openDecoder(platform.files, device, folder);
  } catch (error) {
    device.close();
    throw error;
  }
}
