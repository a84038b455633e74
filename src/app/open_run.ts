/** What all runs have in common from their opening to their end, whatever they train on. */
import { asLeydenError } from "../core/errors.ts";
import type { LoopReporter } from "../experiment/loop.ts";
import type { MetricsLine, RunFolder } from "../experiment/run_folder.ts";
import type { RunGate } from "../experiment/run_gate.ts";
import { TimelineFile, timelineFileName } from "../experiment/timeline_file.ts";
import type { Engine } from "../schema/engine.ts";
import type { Platform } from "../schema/platform.ts";
import type { Store } from "../schema/store.ts";
import type { RunHost } from "./run_host.ts";
import type { RunRequest, RunResult } from "./run_request.ts";
import type { Telemetry } from "./telemetry.ts";
import { watchUpdates } from "./watch_updates.ts";

/** What is used of where a run runs. */
export interface OpeningHost {
  readonly platform: Pick<Platform, "files">;
  /** As RunHost's. */
  openTelemetry(...asked: Parameters<RunHost["openTelemetry"]>): Promise<Pick<Telemetry, "update" | "close"> | null>;
}

/** What is used of what was asked for. */
export type OpeningRequest = Pick<RunRequest, "say" | "steering" | "otel" | "linger" | "reporter" | "signal">;

/** What is open while a run is at work. */
export interface OpenParts {
  readonly engine: Engine;
  readonly store: Store;
  close(): Promise<void>;
}

/** What a loop is given by whoever watches and steers its run. */
export interface LoopControls {
  readonly reporter: LoopReporter;
  readonly signal: AbortSignal;
  readonly gate?: RunGate;
}

/** A run's own two steps. */
export interface RunSteps<T extends OpenParts> {
  /** Opens what the run needs; `lastLine` are the metrics of its last update. */
  open(lastLine: () => MetricsLine): Promise<T>;
  /** Trains with what is open. */
  train(parts: T, controls: LoopControls): Promise<RunResult>;
}

/**
 * Opens a run, trains, keeps its result and tells whoever watches; what was opened is closed however it ends.
 * @throws LeydenError whatever a step throws
 */
export async function openRun<T extends OpenParts>(
  host: OpeningHost,
  request: OpeningRequest,
  folder: RunFolder,
  { open, train }: RunSteps<T>,
): Promise<RunResult> {
  const { say, steering } = request;
  let lastLine: MetricsLine = {};
  const parts = await open(() => lastLine);
  let telemetry: Pick<Telemetry, "update" | "close"> | null = null;
  const close = async (): Promise<void> => {
    steering?.released();
    // A run is none the worse for spans that could not be sent.
    await telemetry?.close().catch((thrown) => say(`telemetry: ${asLeydenError(thrown).message}`));
    await parts.close();
  };
  let result: RunResult;
  try {
    telemetry = await host.openTelemetry(parts.store, request.otel ?? "", say);
    const timeline = new TimelineFile(host.platform.files, folder.at(timelineFileName), parts.engine, say);
    const told = (line: MetricsLine): void => {
      lastLine = line;
      void timeline.note();
      telemetry?.update(line);
    };
    result = await train(parts, controlsOf(request, told));
    await folder.writeResult(result);
    await timeline.note();
    steering?.finished();
    await request.linger?.();
  } catch (thrown) {
    // Pages are told while the gateway still answers.
    steering?.finished(thrown);
    await close().catch((fault) => say(asLeydenError(fault).message));
    throw thrown;
  }
  await close();
  return result;
}

function controlsOf({ reporter, signal, steering }: OpeningRequest, told: (line: MetricsLine) => void): LoopControls {
  if (steering === undefined) return { reporter: watchUpdates(reporter, told), signal };
  return {
    reporter: watchUpdates(steering.watch(reporter), told),
    signal: AbortSignal.any([signal, steering.signal]),
    gate: steering.gate,
  };
}
