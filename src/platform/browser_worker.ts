import type { WorkerHandle, WorkerPort } from "../schema/platform.ts";
import { offerFiles, takeOwnerFiles } from "./browser_files.ts";
import { spawnWebWorker, webWorkerPort } from "./web_worker.ts";

/** Starts a module as a web worker; one that a worker starts may use its files. */
export function spawnBrowserWorker(module: URL): WorkerHandle {
  const handle = spawnWebWorker(module);
  if (!("WorkerGlobalScope" in globalThis)) return handle;
  const offer = offerFiles();
  handle.post(offer, [offer.port]);
  return handle;
}

/** A worker's way to its owner, whose files it takes where it has none itself. @throws EnvironmentError "not_a_worker" */
export function browserWorkerPort(): WorkerPort {
  const port = webWorkerPort();
  return {
    post: (message, transfer) => port.post(message, transfer),
    onMessage: (receive) =>
      port.onMessage((message) => {
        if (!takeOwnerFiles(message)) receive(message);
      }),
  };
}
