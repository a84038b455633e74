import type { Rollout, RolloutMode } from "../../src/schema/wire.ts";
import type { Principal } from "../auth.ts";
import { ApiError } from "./errors.ts";

/** True when `attempt` was followed by another one; attempts are counted. */
function isSuperseded(attempt: string, last: string | null): boolean {
  const isNumber = (text: string) => /^\d+$/.test(text);
  return last !== null && isNumber(attempt) && isNumber(last) && Number(attempt) < Number(last);
}

/** @throws ApiError 403 when an agent's key is of another attempt */
export function requireOwnAttempt(principal: Principal, rolloutId: string, attemptId: string): void {
  if (principal.kind === "admin") return;
  if (principal.rolloutId === rolloutId && principal.attemptId === attemptId) return;
  throw new ApiError(403, "other_rollout", "This key opens another attempt. Use the key this agent was started with.");
}

/** @throws ApiError 403 for the other mode, 409 when the agent's attempt is over; the admin may do all that */
export function requireLiveAttempt(principal: Principal, rollout: Rollout, mode: RolloutMode): void {
  if (principal.kind === "admin") return;
  if ((mode === "train") !== rollout.is_train) {
    throw new ApiError(
      403,
      "other_mode",
      `This rollout is not of mode ${mode}. Use the address this agent was started with.`,
    );
  }
  const { state, last_attempt_id: last } = rollout.status;
  if (state === "succeeded" || state === "failed") {
    throw new ApiError(409, "rollout_ended", `Rollout ${rollout.rollout_id} has ${state}; its calls are over.`);
  }
  if (isSuperseded(principal.attemptId, last)) {
    throw new ApiError(
      409,
      "attempt_ended",
      `Attempt ${principal.attemptId} was followed by attempt ${last}; its calls are over.`,
    );
  }
}
