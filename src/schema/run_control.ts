/** A run as people steer it from a page: what may be started, where it stands, and pause, step and stop. */
import { z } from "zod";
import { LeydenError } from "../core/errors.ts";
import type { ExperimentConfig } from "./experiment.ts";
import type { Platform } from "./platform.ts";
import { type ScriptedReply, scriptedReplySchema } from "./script.ts";
import type { Startup } from "./startup.ts";

/**
 * `idle`: nothing was started yet. `opening`: the device, the model and the store are being opened. `paused`: between
 * two updates; the model answers calls. `stopping`: agents are being ended. `stopped`: by request, may be resumed.
 * `finished`: all updates are done; the trained model answers while `modelOpen`. `failed`: see `error`.
 */
export type RunPhase = "idle" | "opening" | "running" | "paused" | "stopping" | "stopped" | "finished" | "failed";

/** True while a run's agents and its trainer are at work, or its model is being opened for them. */
export function isAtWork(phase: RunPhase): boolean {
  return phase === "opening" || phase === "running";
}

/** True when a run has agents and a trainer, also while they wait or end: another cannot take its place. */
export function isAlive(phase: RunPhase): boolean {
  return phase === "opening" || phase === "running" || phase === "paused" || phase === "stopping";
}

/** True while a run is alive and was not asked to stop. */
export function isStoppable(phase: RunPhase): boolean {
  return isAlive(phase) && phase !== "stopping";
}

/** True when a run has ended and shows what it left; one that never began has not. */
export function isOver(phase: RunPhase): boolean {
  return phase === "finished" || phase === "stopped" || phase === "failed";
}

/** True when nothing writes to a run's folder, so that it can be taken out whole: it waits, or is not alive. */
export function isExportable(phase: RunPhase): boolean {
  return phase === "paused" || !isAlive(phase);
}

/** Why a run failed, as LeydenError.toJSON gives it. */
export interface RunFault {
  code: string;
  message: string;
  do: string;
}

/** A fault in words: what happened, then what to do, which some faults say with what happened. */
export function faultWords({ message, do: advice }: Pick<RunFault, "message" | "do">): string {
  return message.endsWith(advice) ? message : `${message} ${advice}`;
}

/** Where the run stands. */
export interface RunStatus {
  phase: RunPhase;
  /** Id of the chosen experiment, or the configuration's folder where a command started the run; empty when idle. */
  experiment: string;
  /** Updates finished, and how many there will be. */
  update: number;
  updates: number;
  /** Policy version after these updates; skipped steps, and several of one update, make it another number. */
  version: number;
  /** The model is open and answers calls: from the end of `opening`, and after `finished` until it is let go. */
  modelOpen: boolean;
  /** As it is used, overrides included; null when idle. */
  config: ExperimentConfig | null;
  /** The device's adapter in words; empty until it is open. */
  adapter: string;
  runtime: Platform["runtime"];
  /** Null until the first update. */
  startup: Startup | null;
  error: RunFault | null;
}

/** Where a tab stands before anything was started. */
export const idleRun: RunStatus = {
  phase: "idle",
  experiment: "",
  update: 0,
  updates: 0,
  version: 0,
  modelOpen: false,
  config: null,
  adapter: "",
  runtime: "browser",
  startup: null,
  error: null,
};

/** An experiment that may be started. */
export interface ExperimentChoice {
  id: string;
  title: string;
  summary: string;
  config: ExperimentConfig;
  /** Its model, relative to the page or to the run's configuration. */
  modelFolder: string;
  /** A run of it is kept, which can be continued. */
  resumable: boolean;
  /** What that run goes on with; absent where none is kept, or its configuration cannot be read. */
  kept?: ExperimentConfig;
}

/** What to start. */
export interface StartRequest {
  experiment: string;
  /** Values by dotted path, such as { "train.learningRate": 0.0005 }; null for the experiment's own value. */
  overrides?: Record<string, unknown>;
  /** Source text of a reward function, run in a worker of its own; only in the tab. */
  reward?: string;
  /** Continue the experiment's last run; false starts a new one over it. Default false. */
  resume?: boolean;
  /** Open everything and wait before the first update, so that the model can be tried as it was. Default false. */
  paused?: boolean;
  /** Replies that the model is made to give, one after the other; only in the tab, and never trained. */
  script?: readonly ScriptedReply[];
}

/** What the page asks of a run, one request of `POST /studio/api/control`. */
export type ControlRequest = ({ action: "start" } & StartRequest) | { action: "pause" | "resume" | "step" | "stop" };

const startFields = {
  action: z.literal("start"),
  experiment: z.string().min(1),
  overrides: z.record(z.string(), z.unknown()).optional(),
  reward: z.string().optional(),
  resume: z.boolean().optional(),
  paused: z.boolean().optional(),
  script: z.array(scriptedReplySchema).min(1).optional(),
};

/** A control request as it comes over the wire; unknown keys are refused. */
export const controlRequestSchema: z.ZodType<ControlRequest> = z.discriminatedUnion("action", [
  z.strictObject(startFields),
  z.strictObject({ action: z.enum(["pause", "resume", "step", "stop"]) }),
]);

/** Something was asked of a run that does not fit where it stands. */
export class RunPhaseError extends LeydenError {
  constructor(asked: string, phase: RunPhase, advice: string) {
    super("run_phase", `The run is ${phase}: it cannot ${asked}.`, { do: advice, data: { asked, phase } });
  }
}

/** Steers one run. @throws RunPhaseError when what is asked does not fit the phase */
export interface RunControl {
  status(): RunStatus;
  /** What `start` takes; empty where a command started the run. */
  choices(): Promise<readonly ExperimentChoice[]>;
  /** Absent where a command started the run. Resolves when the run is open; a run that fails later is in the status. */
  start?(request: StartRequest): Promise<void>;
  /** Resolves when the update under way has ended. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** One update, then paused; resolves when it has ended. */
  step(): Promise<void>;
  /** Ends the run; what its last checkpoint has can be resumed. */
  stop(): Promise<void>;
  /** Calls `told` whenever the status has changed, until the returned function is called. */
  onChange(told: () => void): () => void;
}
