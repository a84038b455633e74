import type { Clock } from "../core/clock.ts";
import { asLeydenError } from "../core/errors.ts";
import { isTerminal } from "../schema/rollout.ts";
import type { RolloutClient } from "../schema/rollout_client.ts";
import type { RolloutOutcome } from "./outcome.ts";

/** What became of an outcome on its way to the gateway. */
export type Delivered = "delivered" | "gone" | "conflict" | "abandoned";

const firstWaitMs = 250;
const longestWaitMs = 10_000;

/**
 * Repeats what may fail for a while, each wait twice the last, until it works or the signal fires (then it throws the
 * last error). Errors with a code in `final` are thrown at once.
 */
export async function persist<T>(
  clock: Clock,
  signal: AbortSignal,
  final: readonly string[],
  action: () => Promise<T>,
  onError: (error: Error) => void = () => undefined,
): Promise<T> {
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
    try {
      return await action();
    } catch (thrown) {
      const error = asLeydenError(thrown);
      if (final.includes(error.code) || signal.aborted) throw error;
      onError(error);
      await clock.sleep(waitMs, signal).catch(() => undefined);
    }
  }
}

/** Refusals that repeating cannot change. */
export const finalRefusals: readonly string[] = ["rollout_not_found", "illegal_transition", "cancelled"];

/** Posts an outcome's events, then its state. Doing it again after a crash changes nothing. */
export async function deliver(
  client: RolloutClient,
  clock: Clock,
  outcome: RolloutOutcome,
  signal: AbortSignal,
  onError: (error: Error) => void,
): Promise<Delivered> {
  const { rolloutId, attemptId, state, failure } = outcome;
  const send = async () => {
    const rollout = await client.get(rolloutId);
    if (rollout === null) return "gone";
    if (isTerminal(rollout.status.state)) return rollout.status.state === state ? "delivered" : "conflict";
    for (const event of outcome.events) await client.postEvent(rolloutId, attemptId, event);
    if (state === "succeeded" && rollout.status.state === "queuing") {
      await client.patch(rolloutId, { state: "running", last_attempt_id: attemptId });
    }
    const error = failure === null ? {} : { error_message: `${failure.code}: ${failure.message}` };
    await client.patch(rolloutId, { state, last_attempt_id: attemptId, ...error });
    return "delivered";
  };
  try {
    return await persist(clock, signal, finalRefusals, send, onError);
  } catch (thrown) {
    const { code } = asLeydenError(thrown);
    if (code === "rollout_not_found") return "gone";
    return code === "illegal_transition" ? "conflict" : "abandoned";
  }
}
