import { EnvironmentError } from "../core/errors.ts";
import type { WorkerHandle, WorkerPort } from "../schema/platform.ts";

/** Starts a module as a web worker, in Deno or a browser. */
export function spawnWebWorker(module: URL): WorkerHandle {
  // A page that is one file makes its workers of blobs, which browsers start from a disk as scripts only.
  const worker = new Worker(module, { type: module.protocol === "blob:" ? "classic" : "module" });
  let fail: (error: Error) => void = (error) => {
    throw error;
  };
  worker.addEventListener("error", (event) => {
    // Deno ends the owner as well unless the event is stopped here.
    event.preventDefault();
    const message = `The worker ${module.pathname} failed: ${event.message}.`;
    const detail = { do: "Start the program again; report it if it recurs.", cause: event.error };
    fail(new EnvironmentError("worker_failed", message, detail));
  });
  worker.addEventListener("messageerror", () => {
    const message = `A message of the worker ${module.pathname} could not be read.`;
    fail(new EnvironmentError("worker_failed", message, { do: "Report this with what the program was doing." }));
  });
  return {
    post: (message, transfer) => worker.postMessage(message, transfer ?? []),
    onMessage: (receive) => worker.addEventListener("message", (event) => receive(event.data)),
    onError: (receive) => {
      fail = receive;
    },
    async terminate() {
      worker.terminate();
    },
  };
}

interface WorkerScope {
  postMessage(message: unknown, transfer: Transferable[]): void;
  addEventListener(type: "message", receive: (event: MessageEvent) => void): void;
  addEventListener(type: "unhandledrejection", receive: (event: PromiseRejectionEvent) => void): void;
}

/** A web worker's way to its owner. @throws EnvironmentError "not_a_worker" in a page or the main thread */
export function webWorkerPort(): WorkerPort {
  if (!("WorkerGlobalScope" in globalThis)) {
    const message = "This module runs in the main thread, not in a worker.";
    throw new EnvironmentError("not_a_worker", message, { do: "Start it through spawnWorker." });
  }
  const scope = globalThis as unknown as WorkerScope;
  // A browser keeps a rejection inside the worker; the owner must hear of it as of any other error.
  scope.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    reportError(event.reason);
  });
  return {
    post: (message, transfer) => scope.postMessage(message, transfer ?? []),
    onMessage: (receive) => scope.addEventListener("message", (event) => receive(event.data)),
  };
}
