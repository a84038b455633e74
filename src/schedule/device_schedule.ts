/** What the device may do next. */
export type DeviceAction = "prefill" | "decode" | "update" | "score" | "idle";

/** What waits for the device. */
export interface DeviceDemand {
  /** Prompt tokens wait, or a queued sequence can be admitted. */
  prefill: boolean;
  /** Sequences are ready for their next token. */
  decode: boolean;
  /** Sequences in flight or queued. */
  inFlight: number;
  /** An optimizer step was asked for. */
  update: boolean;
  score: boolean;
  /** New sequences are held back until `resume`. */
  held: boolean;
  /** What the device did last. */
  last: DeviceAction;
}

/**
 * The device's next action. An update is a barrier: it runs when no sequence is in flight. Prefill and decode take
 * turns when both wait, so that neither long prompts nor long replies starve the other: each waits at most one action.
 */
export function nextDeviceAction(demand: DeviceDemand): DeviceAction {
  if (demand.score) return "score";
  if (demand.update && demand.inFlight === 0) return "update";
  if (demand.prefill && !(demand.decode && demand.last === "prefill")) return "prefill";
  if (demand.decode) return "decode";
  return "idle";
}
