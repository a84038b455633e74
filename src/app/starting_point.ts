import { hex } from "../core/clock.ts";
import { ConfigError } from "../core/errors.ts";
import { readRunConfig } from "../experiment/config.ts";
import { configChanges, rolloutChanges } from "../experiment/config_changes.ts";
import { ownClipRange } from "../experiment/objective.ts";
import { type Checkpoint, freshRunState, type RunFolder } from "../experiment/run_folder.ts";
import type { ExperimentConfig } from "../schema/experiment.ts";
import type { Files } from "../schema/files.ts";
import { pathFrom } from "./config_paths.ts";
import type { RunRequest, StartingPoint } from "./run_request.ts";

/** SHA-256 of a configuration's JSON, in hexadecimal. */
async function configHash(config: ExperimentConfig): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(config));
  return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/**
 * The state to start from, the folder with its weights, and what the run goes on by. @throws ConfigError when a run is
 * there and not resumed; FormatError "checkpoint_damaged"
 */
export async function startingPoint(
  folder: RunFolder,
  { config, configFolder, resume, say }: Pick<RunRequest, "config" | "configFolder" | "resume" | "say">,
  files: Files,
): Promise<StartingPoint> {
  const configSha256 = await configHash(config);
  const base = pathFrom(files, configFolder, config.model.path);
  const fresh = { state: { ...freshRunState, configSha256 }, modelFolder: base, optimizerFolder: "" };
  if (!resume) {
    if (await folder.exists()) {
      throw new ConfigError(`${folder.path} already holds a run.`, {
        do: "Pass --resume to continue it, or --out with another folder.",
      });
    }
    return { ...fresh, config, rolloutChanges: [] };
  }
  const checkpoint = await folder.latestCheckpoint();
  if (checkpoint === null) say("There is no checkpoint yet: the run starts over.");
  else await folder.checkFiles(checkpoint);
  const kept = await readRunConfig(files, folder.path);
  const own = kept === null || checkpoint === null ? config : withKeptRange(kept, config, say);
  const isSame = kept === null && checkpoint?.state.configSha256 === configSha256;
  if (!isSame && (kept !== null || checkpoint !== null)) sayChanges(kept, own, say);
  const unlike = kept === null ? ["unknown, for want of the run's config.json"] : rolloutChanges(kept, own);
  return {
    ...(checkpoint === null ? fresh : resumedAt(checkpoint)),
    config: own,
    rolloutChanges: isSame ? [] : unlike,
  };
}

function resumedAt({ state, folder }: Checkpoint): Omit<StartingPoint, "config" | "rolloutChanges"> {
  return { state, modelFolder: folder, optimizerFolder: folder };
}

/**
 * What was asked for, with the seed of random weights that a run to be resumed began with: they are drawn once, and from
 * then on the run's weights come from its checkpoints, and those it is compared with from its folder "base".
 */
export async function withKeptSeed<T extends Pick<RunRequest, "config" | "runFolder" | "say">>(
  files: Files,
  request: T,
): Promise<T> {
  const { config, runFolder, say } = request;
  const randomSeed = (await readRunConfig(files, runFolder))?.model.randomSeed ?? config.model.randomSeed;
  if (randomSeed === config.model.randomSeed) return request;
  say(
    `The run keeps model.randomSeed ${randomSeed}, with which its weights began; ${config.model.randomSeed} would change nothing: begin another run for it.`,
  );
  return { ...request, config: { ...config, model: { ...config.model, randomSeed } } };
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
