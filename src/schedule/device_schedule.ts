/** What the device may do next: `train` is one quantum of gradients, `update` the optimizer's step. */
export type DeviceAction = "prefill" | "decode" | "train" | "update" | "score" | "idle";

/**
 * What an update does about sequences in flight: `drain` holds new ones back and waits for their end; `keep` lets them
 * go on with the keys and values they have, `recompute` with new ones.
 */
export type InFlightPolicy = "drain" | "keep" | "recompute";

/** What waits for the device. */
export interface DeviceDemand {
  /** Prompt tokens wait, or a queued sequence can be admitted. */
  prefill: boolean;
  /** Sequences are ready for their next token. */
  decode: boolean;
  /** Sequences in flight or queued. */
  inFlight: number;
  /** Gradients can be computed now: rows wait, or a pass over them stopped between two quanta. */
  train: boolean;
  /** The next thing in the training queue is an optimizer step. */
  update: boolean;
  score: boolean;
}

/** What the device did before, as far as it decides what comes next. */
export interface DeviceHistory {
  /** The last of prefill and decode. */
  inference: "prefill" | "decode";
  /** Prefill and decode steps since the last quantum of training. */
  sinceTrain: number;
  /** The last action was to score. */
  scored: boolean;
}

/** How the device's time is shared out. */
export interface DevicePolicy {
  inFlight: InFlightPolicy;
  /** Prefill and decode steps that may go before a waiting quantum of training. */
  stepsPerQuantum: number;
}

/** Before anything was done. */
export const noHistory: Readonly<DeviceHistory> = Object.freeze({ inference: "decode", sinceTrain: 0, scored: false });

/**
 * The device's next action. Every kind of work waits a bounded number of actions: prefill and decode take turns when
 * both wait; training takes what they leave, and one action after `stepsPerQuantum` of theirs at the latest; scoring
 * comes first, but never twice in a row over others. An optimizer step is a barrier: it comes as soon as it may, under
 * `drain` when no sequence is in flight.
 */
export function nextDeviceAction(demand: DeviceDemand, history: DeviceHistory, policy: DevicePolicy): DeviceAction {
  const update = demand.update && (policy.inFlight !== "drain" || demand.inFlight === 0);
  const others = demand.prefill || demand.decode || demand.train || update;
  if (demand.score && !(history.scored && others)) return "score";
  if (update) return "update";
  const inference = demand.prefill || demand.decode;
  if (demand.train && (!inference || history.sinceTrain >= policy.stepsPerQuantum)) return "train";
  if (demand.prefill && !(demand.decode && history.inference === "prefill")) return "prefill";
  return demand.decode ? "decode" : "idle";
}

/** The history after an action. */
export function afterAction(history: DeviceHistory, action: DeviceAction): DeviceHistory {
  const inference = action === "prefill" || action === "decode";
  return {
    inference: inference ? action : history.inference,
    sinceTrain: action === "train" ? 0 : history.sinceTrain + (inference ? 1 : 0),
    scored: action === "score",
  };
}
