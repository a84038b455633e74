import { readTuning } from "../engine/tuning_file.ts";
import { type Device, openDevice } from "../gpu/device.ts";
import { deviceOptions } from "../gpu/device_options.ts";
import type { HostPlatform, Platform } from "../schema/platform.ts";

/**
 * A fresh device with what the environment asks for and the kernels that `leyden bench matmul --tune` has chosen here.
 * @throws EnvironmentError "no_adapter"; ConfigError as `deviceOptions`; FormatError "tuning_file"
 */
export async function openHostDevice(platform: Platform | HostPlatform): Promise<Device> {
  // A tab has no folder of the user's; nothing is tuned there.
  const tuning = "cacheFolder" in platform ? await readTuning(platform.files, platform.cacheFolder) : {};
  return openDevice(await platform.gpu(), { ...deviceOptions(platform.env), tuning });
}
