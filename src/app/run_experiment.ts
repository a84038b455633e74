import type { HostPlatform } from "../schema/platform.ts";
import { nodeRunHost } from "./node_run_host.ts";
import { runOnHost } from "./run_on_host.ts";
import type { RunRequest, RunResult } from "./run_request.ts";

/**
 * Trains on Node or Deno to the configured number of updates, whether or not somebody reads what is printed meanwhile
 * (`leyden train … | head`). @throws LeydenError; what is on disk can be resumed
 */
export function runExperiment(platform: HostPlatform, request: RunRequest): Promise<RunResult> {
  platform.terminal.outliveReader();
  return runOnHost(nodeRunHost(platform), request);
}
