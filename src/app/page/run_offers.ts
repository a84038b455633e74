import {
  type ControlRequest,
  type ExperimentChoice,
  isAlive,
  isStoppable,
  type RunPhase,
  type RunStatus,
} from "../../schema/run_control.ts";

/** What can be asked of a run that was started. */
export type SteerAction = "pause" | "resume" | "step" | "stop";

const fits: Readonly<Record<SteerAction, (phase: RunPhase) => boolean>> = {
  pause: (phase) => phase === "running",
  resume: (phase) => phase === "paused",
  step: (phase) => phase === "paused",
  stop: isStoppable,
};

/** True where a run takes the request; stopping a finished one lets go of its model. */
export function takes(action: SteerAction, { phase, modelOpen }: RunStatus): boolean {
  return fits[action](phase) || (action === "stop" && phase === "finished" && modelOpen);
}

/** True where the run that is shown is over, and continuing it opens its model again. */
export function isContinuable({ phase, experiment }: RunStatus, choices: readonly ExperimentChoice[]): boolean {
  return !isAlive(phase) && choices.some(({ id, resumable }) => id === experiment && resumable);
}

/** The experiment whose kept run a request would delete; null when it deletes none. */
export function replacedRun(request: ControlRequest, choices: readonly ExperimentChoice[]): ExperimentChoice | null {
  if (request.action !== "start" || request.resume === true) return null;
  return choices.find(({ id, resumable }) => id === request.experiment && resumable) ?? null;
}
