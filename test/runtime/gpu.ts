import { platform } from "#platform";
import type { Env } from "../../src/core/clock.ts";
import { type Device, openDevice } from "../../src/gpu/device.ts";
import { deviceOptions } from "../../src/gpu/device_options.ts";
import type { Platform } from "../../src/schema/platform.ts";

// "#platform" is another module in a browser than where types are checked.
const here = platform as Platform;
/** LEYDEN_* variables of the run; in a browser, which has none, those that its vitest project sets. */
const env: Env = here.runtime === "browser" ? (import.meta as ImportMeta & { env: Env }).env : here.env;

/** The WebGPU of the runtime the test runs in; a machine without one fails the test, it does not skip it. */
export function openTestGpu(): Promise<GPU> {
  return platform.gpu();
}

/** A device as the run asks for it: without the features that LEYDEN_GPU_DISABLE names. */
export async function openTestDevice(): Promise<Device> {
  return openDevice(await openTestGpu(), deviceOptions(env));
}
