import type { RolloutMode } from "../../src/schema/wire.ts";

/** Whose call it is. */
export interface Identity {
  rolloutId: string;
  attemptId: string;
  mode: RolloutMode;
}
