import { platform } from "#platform";
import { asLeydenError } from "../core/errors.ts";
import { serveEngine } from "../engine/engine_port.ts";
import { openLocalEngine } from "../engine/open_local_engine.ts";
import { readTuning } from "../engine/tuning_file.ts";
import { deviceOptions } from "../gpu/device_options.ts";
import type { ConstraintCompiler } from "../schema/token_constraint.ts";
import type { TokenizerFiles } from "../schema/tokenizer_files.ts";
import { GrammarLanes } from "../text/grammar/grammar_lanes.ts";
import type { EngineWorkerHello, EngineWorkerStart } from "./open_engine.ts";

const port = platform.workerPort();
let opened = false;

port.onMessage((message) => {
  const start = message as EngineWorkerStart;
  if (opened || start.kind !== "engine_open") return;
  opened = true;
  void open(start).then((hello) => port.post(hello));
});

let grammars: ConstraintCompiler | null = null;

/** Grammars of this engine's model, in workers of theirs; a device that is opened again has the same. */
function constraints(files: () => Promise<TokenizerFiles>, vocabSize: number): ConstraintCompiler {
  const spawn = () => platform.spawnWorker(new URL("./grammar_worker.ts", import.meta.url));
  grammars ??= new GrammarLanes({ spawn, files, vocabSize, clock: platform.clock });
  return grammars;
}

async function open({ options }: EngineWorkerStart): Promise<EngineWorkerHello> {
  try {
    const gpu = await platform.gpu();
    const { files, clock, env } = platform;
    // A tab has no folder of the user's; nothing is tuned there.
    const tuning = "cacheFolder" in platform ? await readTuning(files, platform.cacheFolder) : {};
    const host = { gpu, files, clock, device: { ...deviceOptions(env), tuning }, constraints };
    serveEngine(await openLocalEngine(host, options), port);
    return { kind: "engine_ready" };
  } catch (thrown) {
    const error = asLeydenError(thrown);
    return { kind: "engine_failed", error: { ...error.toJSON(), exitCode: error.exitCode } };
  }
}
