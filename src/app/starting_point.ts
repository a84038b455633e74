import { hex } from "../core/clock.ts";
import { ConfigError } from "../core/errors.ts";
import { readRunConfig } from "../experiment/config.ts";
import { configChanges } from "../experiment/config_changes.ts";
import { freshRunState, type RunFolder } from "../experiment/run_folder.ts";
import type { ExperimentConfig } from "../schema/experiment.ts";
import type { Files } from "../schema/files.ts";
import { pathFrom } from "./config_paths.ts";
import type { RunRequest, StartingPoint } from "./run_request.ts";

/** SHA-256 of a configuration's JSON, in hexadecimal. */
async function configHash(config: ExperimentConfig): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(config));
  return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/** The state to start from and the folder with its weights. @throws ConfigError when a run is there and not resumed */
export async function startingPoint(
  folder: RunFolder,
  { config, configFolder, resume, say }: RunRequest,
  files: Files,
): Promise<StartingPoint> {
  const configSha256 = await configHash(config);
  const base = pathFrom(files, configFolder, config.model.path);
  if (!resume) {
    if (await folder.exists()) {
      throw new ConfigError(`${folder.path} already holds a run.`, {
        do: "Pass --resume to continue it, or --out with another folder.",
      });
    }
    return { state: { ...freshRunState, configSha256 }, modelFolder: base, optimizerFolder: "" };
  }
  const checkpoint = await folder.latestCheckpoint();
  if (checkpoint === null) {
    say("There is no checkpoint yet: the run starts over.");
    return { state: { ...freshRunState, configSha256 }, modelFolder: base, optimizerFolder: "" };
  }
  if (checkpoint.state.configSha256 !== configSha256) say(await differenceText(files, folder.path, config));
  return { state: checkpoint.state, modelFolder: checkpoint.folder, optimizerFolder: checkpoint.folder };
}

/** Says what has changed since the run was last at work. */
async function differenceText(files: Files, runFolder: string, config: ExperimentConfig): Promise<string> {
  const kept = await readRunConfig(files, runFolder);
  const changes = kept === null ? [] : configChanges(kept, config);
  const list = changes.length === 0 ? "" : `: ${changes.join(", ")}`;
  return `The configuration differs from the one the run began with${list}.`;
}
