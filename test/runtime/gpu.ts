import { platform } from "#platform";

/** The WebGPU of the runtime the test runs in; a machine without one fails the test, it does not skip it. */
export function openTestGpu(): Promise<GPU> {
  return platform.gpu();
}
