import type { ExperimentConfig } from "../schema/experiment.ts";
import type { TrainConfig } from "../schema/train_config.ts";
import { reasonsToWait } from "./early_collection.ts";
import { ownClipRange } from "./objective.ts";

/** From here on a clip range is one of another loss. */
const farOff = 10;

function clipNotes({ loss, ...train }: TrainConfig): string[] {
  const own = ownClipRange(loss);
  const far = (["clipLow", "clipHigh"] as const).some((end) => {
    const given = train[end];
    // A bound of 0 is nobody's own: it is given to let no ratio go that way.
    if (given === "auto" || given === 0 || own[end] === 0) return false;
    return given > farOff * own[end] || farOff * given < own[end];
  });
  if (!far) return [];
  const given = `train.clipLow is ${train.clipLow} and train.clipHigh ${train.clipHigh}`;
  return [`${given}; ${loss}'s own are ${own.clipLow} and ${own.clipHigh}: "auto" takes these.`];
}

function scheduleNotes(config: ExperimentConfig): string[] {
  if (config.schedule.mode !== "interleaved") return [];
  const reasons = reasonsToWait(config);
  if (reasons.length === 0) return [];
  return [`Interleaved, but gradients are not computed in the gaps of decoding: ${reasons.join("; ")}.`];
}

/** What a configuration does that its reader may not expect: lines to be said once, as a run starts. */
export function runNotes(config: ExperimentConfig): string[] {
  return [...clipNotes(config.train), ...scheduleNotes(config)];
}
