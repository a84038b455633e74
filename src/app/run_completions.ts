import { CompletionLoop } from "../experiment/completion_loop.ts";
import type { RunFolder } from "../experiment/run_folder.ts";
import { readTokenizerFiles } from "../io/tokenizer_folder.ts";
import { ChatFormat } from "../text/chat_format.ts";
import { loadCompletion, loadDataset, type ModuleLoader } from "./load_modules.ts";
import { modelTextFiles } from "./model_text_files.ts";
import type { RunHost } from "./run_host.ts";
import { type RunRequest, type RunResult, type StartingPoint, summarize } from "./run_request.ts";
import { openSessionEngine } from "./session/session_engine.ts";

/** Trains on tasks that one reply answers, without gateway, store and agents. @throws LeydenError */
export async function runCompletions(
  host: RunHost,
  request: RunRequest,
  folder: RunFolder,
  { state, modelFolder, optimizerFolder }: StartingPoint,
  startMs: number,
): Promise<RunResult> {
  const { config, configFolder, steering } = request;
  const { platform } = host;
  const { files, clock } = platform;
  const load: ModuleLoader = (path) => host.importModule(configFolder, path);
  const dataset = await loadDataset(load, config.task.dataset);
  const task = await loadCompletion(load, config.rollout.completion);
  const codec = ChatFormat.load(await readTokenizerFiles(files, modelFolder), { date: new Date(clock.now()) });
  const engine = await openSessionEngine(platform, {
    ...{ config, configFolder, modelFolder, optimizerFolder, version: state.version, train: true },
  });
  try {
    await files.makeFolder(folder.path);
    await folder.truncateMetrics(state.update);
    await folder.writeConfig(config);
    const tokenText = (id: number): string => codec.tokenizer.decode([id], { continuation: true });
    const completions = { codec, task, tokenText };
    const modelFiles = await modelTextFiles(files, modelFolder);
    const deps = { config, configSha256: state.configSha256, dataset, engine, folder, clock, completions, modelFiles };
    steering?.opened((await engine.info()).adapter, state.update);
    const reporter = steering?.watch(request.reporter) ?? request.reporter;
    const signal = steering === undefined ? request.signal : AbortSignal.any([request.signal, steering.signal]);
    const held = steering === undefined ? {} : { gate: steering.gate };
    const ended = await new CompletionLoop({ ...deps, reporter, signal, ...held }, state).run();
    const result = await summarize(platform, engine, request, ended, startMs);
    await folder.writeResult(result);
    steering?.finished();
    await request.linger?.();
    return result;
  } finally {
    await engine.close();
  }
}
