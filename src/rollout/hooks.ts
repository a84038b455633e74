import type { EventCreate, Rollout, RolloutCreate, RolloutEvent } from "../schema/wire.ts";
import type { Failure } from "./failure.ts";

/** What a hook is told about a finished rollout. */
export interface FinishedRollout {
  rollout: Rollout;
  attemptId: string;
  /** Events and calls of the attempt. */
  events: readonly RolloutEvent[];
  /** Adds an event to the attempt, a reward say; written with the rollout's result. */
  addEvent(event: EventCreate): void;
}

/** A person's own code in a rollout's life. Whatever throws here fails the rollout with HookError, visibly. */
export interface RolloutHooks {
  /** Before a rollout is created: returns it, changed or not. */
  onEnqueue?(create: RolloutCreate): RolloutCreate | Promise<RolloutCreate>;
  /** After the reward, before the result is written. */
  onSucceeded?(finished: FinishedRollout): void | Promise<void>;
  /** After the last attempt failed. */
  onFailed?(finished: FinishedRollout, failure: Failure): void | Promise<void>;
}
