import { execPath } from "node:process";
import { fileURLToPath } from "node:url";
import { EnvironmentError } from "../core/errors.ts";
import type { HostPlatform } from "../schema/platform.ts";
import { leydenVariables, systemClock, systemEntropy } from "./clock.ts";
import { type PollingScope, restDawnPolling } from "./dawn_polling.ts";
import { prepareDriverEnvironment, systemCacheFolder } from "./driver_environment.ts";
import { nodeFiles } from "./node_files.ts";
import { systemProcesses } from "./node_processes.ts";
import { nodeSqlite } from "./node_sqlite.ts";
import { systemFacts } from "./node_system.ts";
import { nodeTerminal } from "./node_terminal.ts";
import { nodeWorkerPort, spawnNodeWorker } from "./node_worker.ts";

// Dawn's object must live as long as the process: once collected, the next GPU call is a segmentation fault. A module
// variable is not enough, because a test runner may load this module twice.
const held = globalThis as typeof globalThis & { leydenDawn?: Promise<GPU> };

async function openDawn(): Promise<GPU> {
  prepareDriverEnvironment();
  try {
    const { create, globals } = await import("webgpu");
    // GPUBufferUsage and its kin, which browsers have as globals.
    for (const [name, value] of Object.entries(globals)) {
      if (!(name in globalThis)) Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
    }
    restDawnPolling(globalThis as unknown as PollingScope);
    return create([]);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new EnvironmentError("no_webgpu", `The webgpu package could not be loaded: ${reason}.`, {
      do: 'Run "npm ci" on this machine; it needs x64 or arm64 Linux, macOS or Windows.',
      cause: thrown,
    });
  }
}

/** Node: WebGPU by the webgpu package (Dawn). */
export const platform: HostPlatform = {
  runtime: "node",
  clock: systemClock,
  entropy: systemEntropy,
  env: leydenVariables(process.env),
  files: nodeFiles,
  processes: systemProcesses,
  sql: nodeSqlite,
  terminal: nodeTerminal,
  system: systemFacts(process.versions.node),
  cacheFolder: systemCacheFolder(),
  gpu() {
    held.leydenDawn ??= openDawn();
    return held.leydenDawn;
  },
  spawnWorker(module) {
    prepareDriverEnvironment();
    return spawnNodeWorker(module);
  },
  workerPort: nodeWorkerPort,
  scriptCommand: (script) => [execPath, fileURLToPath(script)],
};
