import { CompletionLoop } from "../experiment/completion_loop.ts";
import type { RunFolder } from "../experiment/run_folder.ts";
import { readTokenizerFiles } from "../io/tokenizer_folder.ts";
import type { HostPlatform } from "../schema/platform.ts";
import { ChatFormat } from "../text/chat_format.ts";
import { loadCompletion, loadDataset } from "./load_modules.ts";
import { modelTextFiles } from "./model_text_files.ts";
import { type RunRequest, type RunResult, type StartingPoint, summarize } from "./run_request.ts";
import { openSessionEngine } from "./session.ts";

/** Trains on tasks that one reply answers, without gateway, store and agents. @throws LeydenError */
export async function runCompletions(
  platform: HostPlatform,
  request: RunRequest,
  folder: RunFolder,
  { state, modelFolder, optimizerFolder }: StartingPoint,
  startMs: number,
): Promise<RunResult> {
  const { config, configFolder, signal, reporter } = request;
  const { files, clock } = platform;
  const dataset = await loadDataset(files, configFolder, config.task.dataset);
  const task = await loadCompletion(files, configFolder, config.rollout.completion);
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
    const ended = await new CompletionLoop({ ...deps, reporter, signal }, state).run();
    const result = await summarize(platform, engine, request, ended, startMs);
    await folder.writeResult(result);
    return result;
  } finally {
    await engine.close();
  }
}
