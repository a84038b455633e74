import type { EventCreate, Rollout, RolloutCreate, RolloutEvent } from "../schema/wire.ts";
import { HookError } from "./errors.ts";
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

/** A rollout to create, and the error of the hook that must then be written on it. */
export interface Enqueued {
  create: RolloutCreate;
  error: HookError | null;
}

/** Runs onEnqueue on each request in order; one that throws keeps its place, with the error. */
export async function applyOnEnqueue(creates: readonly RolloutCreate[], hooks: RolloutHooks): Promise<Enqueued[]> {
  const out: Enqueued[] = [];
  for (const create of creates) {
    try {
      out.push({ create: hooks.onEnqueue ? await hooks.onEnqueue(create) : create, error: null });
    } catch (thrown) {
      out.push({ create, error: new HookError("onEnqueue", create.rollout_id ?? "(unnamed)", thrown) });
    }
  }
  return out;
}
