import { platform } from "#platform";
import { asLeydenError } from "../core/errors.ts";
import { serveEngine } from "../engine/engine_port.ts";
import { openLocalEngine } from "../engine/open_local_engine.ts";
import type { EngineWorkerHello, EngineWorkerStart } from "./open_engine.ts";

const port = platform.workerPort();
let opened = false;

port.onMessage((message) => {
  const start = message as EngineWorkerStart;
  if (opened || start.kind !== "engine_open") return;
  opened = true;
  void open(start).then((hello) => port.post(hello));
});

async function open({ options }: EngineWorkerStart): Promise<EngineWorkerHello> {
  try {
    const gpu = await platform.gpu();
    serveEngine(await openLocalEngine({ gpu, files: platform.files, clock: platform.clock }, options), port);
    return { kind: "engine_ready" };
  } catch (thrown) {
    const error = asLeydenError(thrown);
    return { kind: "engine_failed", error: { ...error.toJSON(), exitCode: error.exitCode } };
  }
}
