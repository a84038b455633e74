import { EnvironmentError } from "../core/errors.ts";
import type { Platform } from "../schema/platform.ts";
import { awakeClock } from "./awake_clock.ts";
import { browserFiles } from "./browser_files.ts";
import { browserWorkerPort, spawnBrowserWorker } from "./browser_worker.ts";
import { systemEntropy } from "./clock.ts";

function noWebGpu(): EnvironmentError {
  if (!globalThis.isSecureContext) {
    const message = `This page (${globalThis.origin}) is not a secure context, so the browser offers no WebGPU.`;
    return new EnvironmentError("no_webgpu", message, { do: "Open it over https, or from 127.0.0.1 or localhost." });
  }
  return new EnvironmentError("no_webgpu", "This browser offers no WebGPU.", {
    do: "Use a current Chromium, Firefox or Safari; on Linux start Chromium with --enable-unsafe-webgpu.",
  });
}

/** A browser's page or worker: its WebGPU, files in the origin's private file system, or in memory. */
export const platform: Platform = {
  runtime: "browser",
  clock: awakeClock,
  entropy: systemEntropy,
  env: Object.freeze({}),
  files: browserFiles,
  async gpu() {
    if (navigator.gpu === undefined) throw noWebGpu();
    return navigator.gpu;
  },
  spawnWorker: spawnBrowserWorker,
  workerPort: browserWorkerPort,
};
