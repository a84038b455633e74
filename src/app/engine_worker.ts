import { platform } from "#platform";
import { asLeydenError } from "../core/errors.ts";
import { serveEngine } from "../engine/engine_port.ts";
import { openLocalEngine } from "../engine/open_local_engine.ts";
import { readTuning } from "../engine/tuning_file.ts";
import { deviceOptions } from "../gpu/device_options.ts";
import { xgrammar } from "./load_xgrammar.ts";
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
    const { files, clock, env } = platform;
    // A tab has no folder of the user's; nothing is tuned there.
    const tuning = "cacheFolder" in platform ? await readTuning(files, platform.cacheFolder) : {};
    const host = { gpu, files, clock, device: { ...deviceOptions(env), tuning }, grammars: xgrammar };
    serveEngine(await openLocalEngine(host, options), port);
    return { kind: "engine_ready" };
  } catch (thrown) {
    const error = asLeydenError(thrown);
    return { kind: "engine_failed", error: { ...error.toJSON(), exitCode: error.exitCode } };
  }
}
