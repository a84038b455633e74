import { asLeydenError, LeydenError } from "../core/errors.ts";

/** The three places where a person's own code joins a rollout's life. */
export type HookName = "onEnqueue" | "onSucceeded" | "onFailed";

/** A hook threw: its rollout fails. */
export class HookError extends LeydenError {
  constructor(hook: HookName, rolloutId: string, cause: unknown) {
    super("hook_failed", `Hook ${hook} failed on rollout ${rolloutId}: ${asLeydenError(cause).message}`, {
      do: `Correct ${hook} in the hooks module.`,
      cause,
      data: { hook, rolloutId },
    });
  }
}

/** A grader threw or refused its task: the rollout has no reward and fails. */
export class GraderError extends LeydenError {
  constructor(grader: string, message: string, advice: string, cause?: unknown) {
    super("grader_failed", `Grader "${grader}": ${message} ${advice}`, { do: advice, cause, data: { grader } });
  }
}

/** Rollouts wait and no controller takes them. */
export class NoRunnerError extends LeydenError {
  constructor(waiting: number, waitedMs: number) {
    const seconds = Math.round(waitedMs / 1000);
    const advice = "Start a controller for this gateway, or raise its queue limit.";
    super("no_runner", `No runner connected: ${waiting} rollouts have been queuing for ${seconds} s. ${advice}`, {
      do: advice,
      data: { waiting, waitedMs },
    });
  }
}
