/** Runs the experiments of a lesson on Node and Deno, and reads off them what its observations and checks need. */
import { lessonGroups } from "../../../gateway/lessons/groups.ts";
import type { LoopReporter } from "../../experiment/loop.ts";
import { type MetricsLine, RunFolder } from "../../experiment/run_folder.ts";
import { readTokenizerFiles } from "../../io/tokenizer_folder.ts";
import type { Files } from "../../schema/files.ts";
import type { LessonExperiment, LessonGroup, LessonRun } from "../../schema/lesson.ts";
import type { HostPlatform } from "../../schema/platform.ts";
import { ChatFormat } from "../../text/chat_format.ts";
import { pathFrom } from "../config_paths.ts";
import { loadConfig } from "../load_config.ts";
import { openStoreForReading } from "../open_store.ts";
import { runExperiment } from "../run_experiment.ts";

/** How a lesson's runs are made. */
export interface LessonRunOptions {
  /** Folder of the experiment that all lessons start from. */
  readonly baseFolder: string;
  /** Folder for the runs, one folder each. */
  readonly runsFolder: string;
  readonly signal: AbortSignal;
  readonly reporter: LoopReporter;
  say(line: string): void;
}

/** Runs one experiment to its end. @throws LeydenError as runExperiment */
export async function runLessonExperiment(
  platform: HostPlatform,
  { key, overrides }: LessonExperiment,
  o: LessonRunOptions,
): Promise<LessonRun> {
  const { files } = platform;
  const settings = Object.entries(overrides).map(([path, value]) => `${path}=${JSON.stringify(value)}`);
  const { config, folder: configFolder } = await loadConfig(files, o.baseFolder, settings);
  const runFolder = files.join(o.runsFolder, key);
  await runExperiment(platform, { ...o, config, configFolder, runFolder, resume: false, tellsStartup: false });
  const modelFolder = pathFrom(files, configFolder, config.model.path);
  return {
    metrics: await readMetrics(files, new RunFolder(files, runFolder).at("metrics.jsonl")),
    groups: await readGroups(platform, files.join(runFolder, "store.sqlite"), modelFolder),
  };
}

async function readMetrics(files: Files, path: string): Promise<MetricsLine[]> {
  const lines = (await files.readText(path)).split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as MetricsLine);
}

async function readGroups(platform: HostPlatform, storePath: string, modelFolder: string): Promise<LessonGroup[]> {
  const format = ChatFormat.load(await readTokenizerFiles(platform.files, modelFolder));
  const codec = {
    stopIds: format.stopIds,
    tokenText: (id: number): string => format.tokenizer.decode([id], { continuation: true }),
    encodeText: (text: string, continues: boolean): Int32Array => format.encodeText(text, continues),
  };
  const store = await openStoreForReading(platform, storePath);
  try {
    return await lessonGroups(store, codec);
  } finally {
    await store.close();
  }
}
