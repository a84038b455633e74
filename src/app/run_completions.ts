import { CompletionLoop } from "../experiment/completion_loop.ts";
import { requireValidation } from "../experiment/evaluation.ts";
import type { MetricsLine, RunFolder } from "../experiment/run_folder.ts";
import { readTokenizerFiles } from "../io/tokenizer_folder.ts";
import type { CompletionTask } from "../schema/completion.ts";
import type { Engine } from "../schema/engine.ts";
import type { Store } from "../schema/store.ts";
import type { Dataset } from "../schema/task.ts";
import { ChatFormat } from "../text/chat_format.ts";
import { loadCompletion, loadDataset, type ModuleLoader } from "./load_modules.ts";
import { modelTextFiles } from "./model_text_files.ts";
import { openCodec } from "./open_codec.ts";
import { openRun } from "./open_run.ts";
import type { RunHost } from "./run_host.ts";
import { type RunRequest, type RunResult, type StartingPoint, summarize } from "./run_request.ts";
import { type OpenedParts, openParts } from "./session/opened_parts.ts";
import { openSessionEngine } from "./session/session_engine.ts";
import { openSessionGateway } from "./session/session_gateway.ts";

/** What is open while replies are drawn and trained. */
interface CompletionSession {
  readonly dataset: Dataset;
  readonly task: CompletionTask;
  readonly codec: ChatFormat;
  readonly engine: Engine;
  /** Holds nothing but calls that people send to the gateway. */
  readonly store: Store;
}

const drainMs = 10_000;

/**
 * Trains on tasks that one reply answers, without agents. Where the request names a port, a gateway there serves
 * /metrics, the studio and the model. @throws LeydenError
 */
export async function runCompletions(
  host: RunHost,
  request: RunRequest,
  folder: RunFolder,
  start: StartingPoint,
  startMs: number,
): Promise<RunResult> {
  const { config, steering } = request;
  const { files, clock } = host.platform;
  return openRun(host, request, folder, {
    open: (lastLine) => openParts((opened) => openCompletions(host, request, start, lastLine, opened)),
    train: async ({ dataset, task, codec, engine }, controls) => {
      const { state, modelFolder } = start;
      await files.makeFolder(folder.path);
      await folder.truncateMetrics(state.update);
      await folder.writeConfig(config);
      await request.stands?.();
      const tokenText = (id: number): string => codec.tokenizer.decode([id], { continuation: true });
      const completions = { codec, task, tokenText };
      const modelFiles = await modelTextFiles(files, modelFolder);
      const deps = {
        config,
        configSha256: state.configSha256,
        dataset,
        engine,
        folder,
        clock,
        completions,
        modelFiles,
      };
      steering?.opened((await engine.info()).adapter, state.update, state.version);
      const ended = await new CompletionLoop({ ...deps, ...controls }, state).run();
      return summarize(host.platform, engine, request, ended, startMs);
    },
  });
}

async function openCompletions(
  host: RunHost,
  request: RunRequest,
  { state, modelFolder, optimizerFolder }: StartingPoint,
  lastLine: () => MetricsLine,
  opened: OpenedParts,
): Promise<CompletionSession> {
  const { config, configFolder, port, gatewayParts } = request;
  const { platform } = host;
  const load: ModuleLoader = (path) => host.importModule(configFolder, path);
  const dataset = await loadDataset(load, config.task.dataset);
  requireValidation(config, dataset);
  const task = await loadCompletion(load, config.rollout.completion);
  const store = await host.openStore("memory");
  opened.add(() => store.close());
  const engine = await openSessionEngine(platform, {
    ...{ config, configFolder, modelFolder, optimizerFolder, version: state.version, train: true },
  });
  opened.add(() => engine.close());
  if (port === undefined) {
    const date = new Date(platform.clock.now());
    const codec = ChatFormat.load(await readTokenizerFiles(platform.files, modelFolder), { date });
    return { dataset, task, codec, engine, store };
  }
  const served = await openCodec(platform, modelFolder);
  opened.add(() => served.close());
  const app = openSessionGateway(
    platform,
    { ...request, gatewayParts: (...parts) => ({ runMetrics: lastLine, ...gatewayParts?.(...parts) }) },
    store,
    engine,
    served,
  );
  const gateway = await host.listen(app, { host: "127.0.0.1", port });
  opened.add(() => gateway.close(drainMs));
  opened.add(async () => request.farewell?.());
  request.served?.(gateway.url);
  return { dataset, task, codec: served.format, engine, store };
}
