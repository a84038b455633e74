import { LeydenError } from "../core/errors.ts";
import { type EngineOptions, engineDefaults } from "../engine/engine_options.ts";
import { EngineClient } from "../engine/engine_port.ts";
import type { Engine } from "../schema/engine.ts";
import type { Platform, WorkerHandle } from "../schema/platform.ts";

/** First message of a worker: it is ready, or why it is not. */
export type EngineWorkerHello =
  | { readonly kind: "engine_ready" }
  | {
      readonly kind: "engine_failed";
      readonly error: { code: string; message: string; do: string; exitCode: 1 | 2 | 3 | 4 };
    };

/** First message to a worker. */
export interface EngineWorkerStart {
  readonly kind: "engine_open";
  readonly options: EngineOptions;
}

/**
 * Opens an engine in a worker of its own, so that nothing on this thread stalls it.
 * @throws LeydenError whatever opening the device and the model reported: "no_adapter", "file_missing", …
 */
export async function openEngine(
  platform: Platform,
  options: Partial<EngineOptions> & Pick<EngineOptions, "modelFolder">,
): Promise<Engine> {
  const worker = platform.spawnWorker(new URL("./engine_worker.ts", import.meta.url));
  const full: EngineOptions = { ...engineDefaults, ...options };
  await hello(worker, full);
  const client = new EngineClient(worker);
  worker.onError((error) => client.fail(error));
  const close = client.close;
  client.close = async () => {
    await close();
    await worker.terminate();
  };
  return client;
}

async function hello(worker: WorkerHandle, options: EngineOptions): Promise<void> {
  const first = await new Promise<EngineWorkerHello>((resolve, reject) => {
    worker.onError(reject);
    worker.onMessage((message) => resolve(message as EngineWorkerHello));
    worker.post({ kind: "engine_open", options } satisfies EngineWorkerStart);
  });
  if (first.kind === "engine_ready") return;
  await worker.terminate();
  const { code, message, exitCode } = first.error;
  throw new LeydenError(code, message, { do: first.error.do }, exitCode);
}
