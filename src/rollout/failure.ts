import type { LeydenError } from "../core/errors.ts";
import type { FailureClass, RetryPolicy } from "../schema/agent.ts";
import type { ProcessExit } from "../schema/process_host.ts";

/** Why the controller itself ended an attempt, or never started it. */
export type StopReason = "run_timeout" | "silence" | "cancelled" | "shutdown";

/** Stable names of everything that can end a rollout badly. */
export type FailureCode =
  | StopReason
  | "queue_timeout"
  | "spawn_failed"
  | "input_invalid"
  | "attempt_failed"
  | "agent_exit"
  | "agent_crash"
  | "agent_killed"
  | "output_limit"
  | "model_unavailable"
  | "orphaned"
  | "grader_failed"
  | "hook_failed";

/** A failed attempt or rollout: what kind, and what happened with the values. */
export interface Failure {
  code: FailureCode;
  class: FailureClass;
  message: string;
}

/** How an attempt ended, before anybody judged it. */
export interface AttemptEnd {
  /** Null when the process never started, or did not die when it was killed. */
  exit: ProcessExit | null;
  /** Set when the controller ended it. */
  stopped: StopReason | null;
  /** Set when it could not be started. */
  startError: LeydenError | null;
  /** Folder the agent worked in, when it had one of its own. */
  workspace: string | null;
  /** Seconds since the epoch. */
  startedAt: number;
  endedAt: number;
}

const classes: Readonly<Record<FailureCode, FailureClass>> = {
  run_timeout: "limit",
  silence: "limit",
  queue_timeout: "limit",
  cancelled: "cancelled",
  shutdown: "cancelled",
  spawn_failed: "infrastructure",
  attempt_failed: "infrastructure",
  input_invalid: "config",
  agent_exit: "agent",
  agent_crash: "agent",
  agent_killed: "infrastructure",
  output_limit: "agent",
  model_unavailable: "infrastructure",
  orphaned: "infrastructure",
  grader_failed: "grader",
  hook_failed: "hook",
};

/** What an agent, the policy behind it or a limit on it brings about; a failure without a known code counts as theirs. */
export function isAgentsOwn(code: string): boolean {
  const known = Object.hasOwn(classes, code) ? classes[code as FailureCode] : "agent";
  return known === "agent" || known === "limit" || known === "cancelled";
}

/** Signals a process brings on itself; any other came from outside. */
const crashSignals = new Set(["SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE", "SIGTRAP", "SIGSYS", "SIGPIPE"]);

/** A failure of a code's own class. */
export function failure(code: FailureCode, message: string): Failure {
  return { code, class: classes[code], message };
}

function stopFailure(stopped: StopReason, seconds: number): Failure {
  const texts: Readonly<Record<StopReason, string>> = {
    run_timeout: `The agent timed out after ${seconds} s.`,
    silence: `The agent timed out after ${seconds} s: it made no call and wrote nothing for too long.`,
    cancelled: "The rollout was ended or deleted at the gateway while its agent ran.",
    shutdown: "The controller shut down.",
  };
  return failure(stopped, texts[stopped]);
}

/** Codes of errors that another attempt cannot mend. */
const inputErrors = new Set(["config", "file_missing"]);

function startFailure(error: LeydenError): Failure {
  if (inputErrors.has(error.code)) return failure("input_invalid", error.message);
  return failure(error.code === "spawn_failed" ? "spawn_failed" : "attempt_failed", error.message);
}

function exitFailure(exit: ProcessExit, lastStatus: number | null): Failure | null {
  if (exit.overflowed) {
    return failure("output_limit", `The agent wrote more than its limit; ${exit.outputBytes} bytes were kept.`);
  }
  if (exit.signal !== null) {
    const code = crashSignals.has(exit.signal) ? "agent_crash" : "agent_killed";
    return failure(code, `The agent was ended by ${exit.signal}.`);
  }
  if (exit.code === 0) return null;
  if (lastStatus !== null && lastStatus >= 500) {
    const message = `The agent exited with code ${exit.code} after its model answered ${lastStatus}.`;
    return failure("model_unavailable", message);
  }
  return failure("agent_exit", `The agent exited with code ${exit.code}.`);
}

/**
 * What went wrong in an attempt; null when the agent ended by itself with code 0. `lastStatus` is the HTTP status of
 * its last call, null without one.
 */
export function failureOf(end: AttemptEnd, lastStatus: number | null): Failure | null {
  if (end.startError !== null) return startFailure(end.startError);
  if (end.stopped !== null) return stopFailure(end.stopped, Math.round(end.endedAt - end.startedAt));
  if (end.exit === null) return failure("attempt_failed", "The attempt ended without an exit code.");
  return exitFailure(end.exit, lastStatus);
}

/** True when the policy allows another attempt after `failed` earlier ones of this class. */
export function mayRetry(reason: Failure, failed: number, policy: RetryPolicy): boolean {
  return failed < (policy[reason.class] ?? 0);
}
