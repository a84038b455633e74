import type { LoopReporter, LoopResult } from "../experiment/loop.ts";
import type { RunState } from "../experiment/run_folder.ts";
import type { Engine } from "../schema/engine.ts";
import type { ExperimentConfig } from "../schema/experiment.ts";
import type { Platform } from "../schema/platform.ts";
import type { ScriptedReply } from "../schema/script.ts";
import type { Startup } from "../schema/startup.ts";
import type { Store } from "../schema/store.ts";
import type { RunSteering } from "./run_steering.ts";
import type { GatewayParts, TokenBytes } from "./session/session_options.ts";

/** A run to start or to continue. */
export interface RunRequest {
  readonly config: ExperimentConfig;
  readonly configFolder: string;
  readonly runFolder: string;
  readonly resume: boolean;
  readonly signal: AbortSignal;
  readonly reporter: LoopReporter;
  /** Port of the gateway; default a free one. */
  readonly port?: number;
  /** Base address of an OTLP/HTTP collector for spans; default OTEL_EXPORTER_OTLP_ENDPOINT, without which none are made. */
  readonly otel?: string;
  /** Where people hold, step and stop the run, and see where it stands. */
  readonly steering?: RunSteering;
  /** The gateway's admin key; default a new one. */
  readonly key?: string;
  /** Replies that the model is made to give; empty or absent: it answers by itself. */
  readonly script?: readonly ScriptedReply[];
  /** What the gateway shows and steers besides answering calls. */
  gatewayParts?(store: Store, engine: Engine, tokenBytes: TokenBytes): GatewayParts;
  /**
   * Awaited when everything is open and the configuration is kept, before the first update; a run that it refuses is not
   * opened.
   */
  stands?(): Promise<void>;
  /** Told where the gateway is, once it answers. */
  served?(url: string): void;
  /** The gateway answers until it resolves, when the run and its agents have ended. */
  farewell?(): Promise<void>;
  /** Called when all updates are done: until it resolves, the trained model answers calls. */
  linger?(): Promise<void>;
  /** Says where the time to the first update went; default true. What a program did before its run counts in it. */
  readonly tellsStartup?: boolean;
  say(line: string): void;
}

/** How a run ended: `leyden train`'s last line. */
export interface RunResult {
  readonly run: string;
  readonly updates: number;
  readonly version: number;
  readonly reward: number | null;
  readonly validation: number | null;
  readonly weights_sha256: string;
  readonly seconds: number;
  readonly adapter: string;
  readonly mode: ExperimentConfig["schedule"]["mode"];
  /** Where the time to the first update went; absent when there was none. */
  readonly startup?: Startup;
}

/** Where a run starts: its configuration and state, and the folders with weights and moments. */
export interface StartingPoint {
  /** What was asked for, with what a resumed run keeps. */
  readonly config: ExperimentConfig;
  readonly state: RunState;
  /**
   * Settings that make rollouts of before unlike those to come, "rollout.reward agent -> exit" say; none: all are alike.
   */
  readonly rolloutChanges: readonly string[];
  readonly modelFolder: string;
  readonly optimizerFolder: string;
}

/** `leyden train`'s last line. */
export async function summarize(
  { clock }: Platform,
  engine: Engine,
  { config, runFolder }: RunRequest,
  ended: LoopResult,
  startMs: number,
): Promise<RunResult> {
  const { adapter } = await engine.info();
  const { weightsSha256 } = await engine.snapshot({ optimizer: false });
  return {
    run: runFolder,
    ...ended,
    weights_sha256: weightsSha256,
    seconds: (clock.monotonic() - startMs) / 1000,
    adapter,
    mode: config.schedule.mode,
  };
}
