import { hex } from "../core/clock.ts";
import { ConfigError } from "../core/errors.ts";
import { readRunConfig } from "../experiment/config.ts";
import { configChanges } from "../experiment/config_changes.ts";
import { ownClipRange } from "../experiment/objective.ts";
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

/** The state to start from, the folder with its weights, and what the run goes on by. @throws ConfigError when a run is there and not resumed */
export async function startingPoint(
  folder: RunFolder,
  { config, configFolder, resume, say }: Pick<RunRequest, "config" | "configFolder" | "resume" | "say">,
  files: Files,
): Promise<StartingPoint> {
  const configSha256 = await configHash(config);
  const base = pathFrom(files, configFolder, config.model.path);
  const fresh = { config, state: { ...freshRunState, configSha256 }, modelFolder: base, optimizerFolder: "" };
  if (!resume) {
    if (await folder.exists()) {
      throw new ConfigError(`${folder.path} already holds a run.`, {
        do: "Pass --resume to continue it, or --out with another folder.",
      });
    }
    return fresh;
  }
  const checkpoint = await folder.latestCheckpoint();
  if (checkpoint === null) {
    say("There is no checkpoint yet: the run starts over.");
    return fresh;
  }
  const { state, folder: from } = checkpoint;
  const point = { state, modelFolder: from, optimizerFolder: from };
  if (state.configSha256 === configSha256) return { ...point, config };
  const kept = await readRunConfig(files, folder.path);
  const own = kept === null ? config : withKeptRange(kept, config, say);
  sayChanges(kept, own, say);
  return { ...point, config: own };
}

/** Says what has changed since the run was last at work. */
function sayChanges(kept: ExperimentConfig | null, config: ExperimentConfig, say: RunRequest["say"]): void {
  const changes = kept === null ? [] : configChanges(kept, config);
  if (kept !== null && changes.length === 0) return;
  const list = changes.length === 0 ? "" : `: ${changes.join(", ")}`;
  say(`The configuration differs from the one the run began with${list}.`);
}

/**
 * A run that recorded numbers for its clip range goes on with them where "auto" is asked for now: the range is no other one
 * from one update to the next because a loss's own numbers came to be known.
 */
function withKeptRange(kept: ExperimentConfig, config: ExperimentConfig, say: RunRequest["say"]): ExperimentConfig {
  const { train } = config;
  if (kept.train.loss !== train.loss) return config;
  const range = {
    clipLow: train.clipLow === "auto" ? kept.train.clipLow : train.clipLow,
    clipHigh: train.clipHigh === "auto" ? kept.train.clipHigh : train.clipHigh,
  };
  const own = { ...config, train: { ...train, ...range } };
  if (configChanges(config, own).length > 0) {
    const { clipLow, clipHigh } = ownClipRange(train.loss);
    say(
      `The run keeps train.clipLow ${range.clipLow} and train.clipHigh ${range.clipHigh}, with which it began; ` +
        `${train.loss}'s own are ${clipLow} and ${clipHigh}: give these to change over.`,
    );
  }
  return own;
}
