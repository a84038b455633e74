import { FormatError } from "../core/errors.ts";
import type { Files } from "../schema/files.ts";
import type { ProcessExit } from "../schema/process_host.ts";
import type { EventCreate, RewardSource } from "../schema/wire.ts";
import type { Failure } from "./failure.ts";

/**
 * How a rollout ended: decided once, written to result.json, then delivered to the gateway as often as that takes.
 * Times are seconds since the epoch.
 */
export interface RolloutOutcome {
  format: 1;
  rolloutId: string;
  attemptId: string;
  state: "succeeded" | "failed";
  failure: Failure | null;
  reward: { value: number | null; source: RewardSource; reason: string } | null;
  /** Failures of the attempts before this one. */
  earlier: readonly Failure[];
  exit: ProcessExit | null;
  startedAt: number;
  endedAt: number;
  /** Posted before the state, in this order, each with an id of its own. */
  events: readonly EventCreate[];
}

/** Folder of an attempt within a run's folder. */
export function attemptFolder(files: Files, runFolder: string, rolloutId: string, attemptId: string): string {
  // Ids come from outside: nothing in them may lead to another folder.
  const safe = (id: string) => encodeURIComponent(id).replace(/^\.+$/, (dots) => dots.replaceAll(".", "%2E"));
  return files.join(runFolder, "attempts", safe(rolloutId), safe(attemptId));
}

/** Stores an outcome in its attempt's folder. */
export function saveOutcome(files: Files, folder: string, outcome: RolloutOutcome): Promise<void> {
  return files.write(files.join(folder, "result.json"), `${JSON.stringify(outcome, null, 2)}\n`);
}

/** The stored outcome of an attempt; null when it has none. @throws FormatError "result_format" */
export async function loadOutcome(files: Files, folder: string): Promise<RolloutOutcome | null> {
  const path = files.join(folder, "result.json");
  if (!(await files.exists(path))) return null;
  let outcome: Partial<RolloutOutcome> | null;
  try {
    outcome = JSON.parse(await files.readText(path)) as Partial<RolloutOutcome> | null;
  } catch (cause) {
    throw new FormatError("result_format", `${path} is no JSON.`, { do: "Remove the file.", cause });
  }
  if (outcome?.format !== 1) {
    throw new FormatError("result_format", `${path} has format ${outcome?.format}; this version reads 1.`, {
      do: "Resume with the version that wrote it, or remove the file.",
    });
  }
  return outcome as RolloutOutcome;
}
