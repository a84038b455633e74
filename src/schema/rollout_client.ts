import type { EventCreate, Rollout, RolloutEvent, RolloutState, StatusPatch } from "./wire.ts";

/** How the agent of one attempt reaches its model and reports. */
export interface AgentAccess {
  /** Opens this attempt's model and events and nothing else, where the gateway has such keys. */
  key: string;
  /** OpenAI base path, ends in /v1. */
  openaiBaseUrl: string;
  /** Base of the Anthropic and Gemini dialects, without a version segment. */
  nativeBaseUrl: string;
  /** Agent Lightning's proxy path, ends in /openai/v1. */
  aglBaseUrl: string;
  /** Where the attempt's events are posted. */
  eventUrl: string;
}

/** Something happened to a rollout. `activity`: a call or an event. */
export interface RolloutChange {
  rolloutId: string;
  kind: "created" | "patched" | "deleted" | "activity";
}

/** A call that got no reply to record: the model was unreachable or failed. */
export interface FailedCall {
  httpStatus: number;
  /** Seconds since the epoch. */
  timestamp: number;
}

/** Changes after one cursor up to the next. */
export interface RolloutChanges {
  cursor: number;
  changes: readonly RolloutChange[];
}

/** A controller's view of the gateway; in process over the Store, or over HTTP. */
export interface RolloutClient {
  /** True when `watch` reports activity. */
  readonly reportsActivity: boolean;
  /** In order of creation. */
  list(states: readonly RolloutState[]): Promise<Rollout[]>;
  get(rolloutId: string): Promise<Rollout | null>;
  /** @throws LeydenError "rollout_not_found", "illegal_transition" */
  patch(rolloutId: string, patch: StatusPatch): Promise<void>;
  /** Posting an event_id again adds nothing. @throws LeydenError "rollout_not_found" */
  postEvent(rolloutId: string, attemptId: string, event: EventCreate): Promise<void>;
  /** Events and calls of an attempt in order of writing. */
  events(rolloutId: string, attemptId: string): Promise<RolloutEvent[]>;
  /** Calls of an attempt that are not among its events, as far as the gateway tells. */
  failedCalls(rolloutId: string, attemptId: string): Promise<readonly FailedCall[]>;
  /** Where the changes stand now. */
  cursor(): Promise<number>;
  /** Resolves as soon as there are changes after the cursor. @throws CancelledError */
  watch(cursor: number, signal: AbortSignal): Promise<RolloutChanges>;
  access(rollout: Rollout, attemptId: string): Promise<AgentAccess>;
  /** Calls of an attempt that wait for their reply; 0 where that is not known. */
  waitingCalls(rolloutId: string, attemptId: string): number;
}
