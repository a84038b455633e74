import { LeydenError } from "../../../core/errors.ts";
import { valueAt } from "../../../experiment/config_values.ts";
import type { RunStatus } from "../../../schema/run_control.ts";
import type { StartedRun } from "./lesson_memory.ts";

/** Code of the error that `runLost` makes. */
export const lostCode = "lesson_run_lost";

/** A lesson's run can be read no more. */
export function runLost(): LeydenError {
  const message = "The run ended, or another one took its place, before this page could read what it recorded.";
  return new LeydenError(lostCode, message, { do: "Run it again." });
}

/** True when a value has everything that another one asks for; a configuration adds its defaults to it. */
function contains(value: unknown, asked: unknown): boolean {
  if (typeof asked !== "object" || asked === null) return value === asked;
  if (typeof value !== "object" || value === null) return false;
  const parts = Object.entries(asked);
  if (Array.isArray(asked) && (!Array.isArray(value) || value.length !== parts.length)) return false;
  return parts.every(([key, part]) => contains((value as Record<string, unknown>)[key], part));
}

/** True when the run that a status tells of is the one that a lesson started from this experiment. */
export function isThatRun(
  { experiment, config }: RunStatus,
  { overrides }: Pick<StartedRun, "overrides">,
  base: string,
): boolean {
  if (experiment !== base || config === null) return false;
  return Object.entries(overrides).every(([path, asked]) => contains(valueAt(config, path), asked));
}
