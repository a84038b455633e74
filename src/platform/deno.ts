import { execPath } from "node:process";
import { fileURLToPath } from "node:url";
import { EnvironmentError } from "../core/errors.ts";
import type { HostPlatform } from "../schema/platform.ts";
import { leydenVariables, systemClock, systemEntropy } from "./clock.ts";
import { prepareDriverEnvironment, systemCacheFolder } from "./driver_environment.ts";
import { nodeFiles } from "./node_files.ts";
import { systemProcesses } from "./node_processes.ts";
import { nodeSqlite } from "./node_sqlite.ts";
import { systemFacts } from "./node_system.ts";
import { nodeTerminal } from "./node_terminal.ts";
import { spawnWebWorker, webWorkerPort } from "./web_worker.ts";

/** Deno: its own WebGPU (wgpu) and web workers; files, processes and SQL by its node: modules. */
export const platform: HostPlatform = {
  runtime: "deno",
  clock: systemClock,
  entropy: systemEntropy,
  env: leydenVariables(process.env),
  files: nodeFiles,
  processes: systemProcesses,
  sql: nodeSqlite,
  terminal: nodeTerminal,
  system: systemFacts(process.versions.deno ?? ""),
  cacheFolder: systemCacheFolder(),
  async gpu() {
    prepareDriverEnvironment();
    if (navigator.gpu !== undefined) return navigator.gpu;
    const message = `Deno ${process.versions.deno ?? ""} offers no WebGPU.`;
    throw new EnvironmentError("no_webgpu", message, { do: "Run Deno 2.9 or later with -A." });
  },
  spawnWorker(module) {
    prepareDriverEnvironment();
    return spawnWebWorker(module);
  },
  workerPort: webWorkerPort,
  scriptCommand: (script) => [execPath, "run", "-A", "--no-check", fileURLToPath(script)],
};
