import type { ControlRequest, ExperimentChoice, RunPhase, RunStatus } from "../../schema/run_control.ts";

/** What can be asked of a run that was started. */
export type SteerAction = "pause" | "resume" | "step" | "stop";

const phasesOf: Readonly<Record<SteerAction, readonly RunPhase[]>> = {
  pause: ["running"],
  resume: ["paused"],
  step: ["paused"],
  stop: ["opening", "running", "paused"],
};

/** True where a run takes the request; stopping a finished one lets go of its model. */
export function takes(action: SteerAction, { phase, modelOpen }: RunStatus): boolean {
  return phasesOf[action].includes(phase) || (action === "stop" && phase === "finished" && modelOpen);
}

/** True where another run may be started. */
export function isStartable(phase: RunPhase): boolean {
  return phase === "idle" || phase === "stopped" || phase === "finished" || phase === "failed";
}

/** True where the run that is shown is over, and continuing it opens its model again. */
export function isContinuable({ phase, experiment }: RunStatus, choices: readonly ExperimentChoice[]): boolean {
  return isStartable(phase) && choices.some(({ id, resumable }) => id === experiment && resumable);
}

/** The experiment whose kept run a request would delete; null when it deletes none. */
export function replacedRun(request: ControlRequest, choices: readonly ExperimentChoice[]): ExperimentChoice | null {
  if (request.action !== "start" || request.resume === true) return null;
  return choices.find(({ id, resumable }) => id === request.experiment && resumable) ?? null;
}
