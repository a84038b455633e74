import type { Clock } from "../core/clock.ts";
import type { AgentCommand, RetryPolicy, RunLimits } from "../schema/agent.ts";
import type { Files } from "../schema/files.ts";
import type { RolloutClient } from "../schema/rollout_client.ts";
import type { Delivered } from "./delivery.ts";
import type { Failure } from "./failure.ts";
import type { RolloutOutcome } from "./outcome.ts";
import type { AttemptRunner } from "./process_runner.ts";
import type { Settler } from "./settle.ts";

/** How many agents run, and how. */
export interface ControllerOptions {
  agent: AgentCommand;
  /** Agents at work at once. */
  concurrency: number;
  /** Agents that may be starting at once: an agent's start costs far more processor time than its waiting. */
  startConcurrency: number;
  /** An agent counts as starting until its first sign of life, this long at most, in milliseconds. */
  startWindowMs: number;
  limits: RunLimits;
  retries: RetryPolicy;
  /** Wait before another attempt, in milliseconds. */
  retryDelayMs: number;
  /** What becomes of unfinished rollouts at shutdown: failed, or left for the next controller. */
  onShutdown: "fail" | "leave";
  /** Folder of the run; attempts lie in its "attempts". */
  runFolder: string;
}

/** What the controller says while it works; a live table or a log reads it. */
export type ControllerReport =
  | { kind: "started"; rolloutId: string; attemptId: string }
  | { kind: "retry"; rolloutId: string; attemptId: string; failure: Failure }
  | { kind: "finished"; outcome: RolloutOutcome; delivered: Delivered }
  | { kind: "error"; where: string; error: Error };

/** Everything outside that the controller works with. */
export interface ControllerDeps {
  client: RolloutClient;
  runner: AttemptRunner;
  settler: Settler;
  clock: Clock;
  files: Files;
  report?(report: ControllerReport): void;
}
