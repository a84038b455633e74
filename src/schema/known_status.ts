import type { RunStatus } from "./run_control.ts";

/** What a reader of changes knows of the run, for the query key `known`: a status that says otherwise is news at once. */
export function knownStatus(status: RunStatus | null): string {
  return status === null ? "" : `${status.phase}:${status.update}:${status.modelOpen}`;
}
