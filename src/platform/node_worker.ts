import { parentPort, type Transferable, Worker } from "node:worker_threads";
import { EnvironmentError } from "../core/errors.ts";
import type { WorkerHandle, WorkerPort } from "../schema/platform.ts";

/** Starts a module as a worker thread. */
export function spawnNodeWorker(module: URL): WorkerHandle {
  const worker = new Worker(module);
  let asked = false;
  let fail: (error: Error) => void = (error) => {
    throw error;
  };
  worker.on("error", (error) => fail(error as Error));
  worker.on("exit", (code) => {
    if (asked || code === 0) return;
    const message = `The worker ${module.pathname} ended by itself with code ${code}.`;
    fail(new EnvironmentError("worker_failed", message, { do: "Start the program again; report it if it recurs." }));
  });
  return {
    post: (message, transfer) => worker.postMessage(message, transfer as Transferable[]),
    onMessage: (receive) => void worker.on("message", receive),
    onError: (receive) => {
      fail = receive;
    },
    async terminate() {
      asked = true;
      await worker.terminate();
    },
  };
}

/** A worker thread's way to its owner. @throws EnvironmentError "not_a_worker" in the main thread */
export function nodeWorkerPort(): WorkerPort {
  const port = parentPort;
  if (port === null) {
    const message = "This module runs in the main thread, not in a worker.";
    throw new EnvironmentError("not_a_worker", message, { do: "Start it through spawnWorker." });
  }
  return {
    post: (message, transfer) => port.postMessage(message, transfer as Transferable[]),
    onMessage: (receive) => void port.on("message", receive),
  };
}
