/** The store: an append-only log of events, and the views of it that gateway, controller and trainer read. */
import type { BreakReason } from "./chat.ts";
import type { SummaryPage, SummaryQuery } from "./rollout_summary.ts";
import type { Rollout, RolloutEvent, RolloutMode, RolloutState, StatusPatch, TerminalPage } from "./wire.ts";

/** Whether the harness got the whole reply. A reply it never got is no turn of the conversation. */
export type Delivery = "pending" | "delivered" | "abandoned";

/** The exact tokens of a call. `replyIds` and `versions` have one length. */
export interface CallTokens {
  promptIds: Int32Array;
  /** What was sampled, the stop id included. */
  replyIds: Int32Array;
  /** Natural logs under the distribution sampled from, one per reply id; empty when a foreign model reported none. */
  logprobs: Float32Array;
  /** Policy version that computed each token's distribution. */
  versions: Int32Array;
}

/** One LLM request and its reply: the store's unit of training data. */
export interface CallRecord {
  id: string;
  rolloutId: string;
  attemptId: string;
  mode: RolloutMode;
  /** API the harness spoke, such as "chat_completions". */
  dialect: string;
  /** Name of the model that answered. */
  policy: string;
  /** True when tokens and logprobs are this project's own policy's, false for a forwarded call. */
  own: boolean;
  /** Names the draw: hash of policy, prompt and settings, and how often that prompt was sampled before. */
  callKey: string;
  /** The call whose prompt and reply begin this prompt, and how many ids they share. */
  parent: string | null;
  prefixLength: number;
  breakReason: BreakReason | null;
  /** The rule by which the call is beside the harness's work and not trained; absent for a call that is part of it. */
  side?: string;
  /** Empty arrays when the model that answered reported none. */
  tokens: CallTokens;
  /** Settings that were used, and the harness's settings that were not. */
  sampling: Record<string, unknown>;
  overridden: Record<string, unknown>;
  /** True when logprobs are of a truncated distribution. */
  truncated: boolean;
  /** True when a grammar masked tokens, logprobs being of the masked distribution; absent is false. */
  constrained?: boolean;
  /** JSON body as sent to the model, and the model's JSON reply; token ids in it may be left to `tokens`. */
  request: Record<string, unknown>;
  response: unknown;
  server: { model: string; endpoint: string; version: number };
  httpStatus: number;
  finishReason: string | null;
  retryCount: number;
  latencyMs: number;
  /** Seconds since the epoch, when the reply was complete. */
  timestamp: number;
  delivery: Delivery;
}

/** A call that produced no reply to record: upstream unreachable, cancelled, engine fault. */
export interface CallFailure {
  rolloutId: string;
  attemptId: string;
  code: string;
  message: string;
  httpStatus: number;
  latencyMs: number;
  retryCount: number;
  timestamp: number;
}

/** Everything that can be written. Times are seconds since the epoch. */
export type StoreEvent =
  /** No effect when the id exists. */
  | { type: "rollout_created"; rollout: Rollout }
  | { type: "rollout_patched"; rolloutId: string; patch: StatusPatch; at: number }
  /** Removes the rollout with its events and calls; no effect when there is none. */
  | { type: "rollout_deleted"; rolloutId: string; at: number }
  /** No effect when `eventId` was already posted to the rollout. */
  | { type: "event_posted"; event: RolloutEvent; eventId?: string }
  | { type: "call_recorded"; call: CallRecord }
  | { type: "call_delivery"; callId: string; delivery: "delivered" | "abandoned"; at: number }
  | { type: "call_failed"; failure: CallFailure }
  /** What experiment and gateway want to find again after a crash: groups trained, cursors, registered endpoints. */
  | { type: "experiment"; name: string; data: unknown; at: number };

/** One line of the log. Sequence numbers start at 1 and have no gaps. */
export interface LogEntry {
  seq: number;
  type: StoreEvent["type"];
  /** The rollout concerned; empty for experiment events. */
  rolloutId: string;
  at: number;
  /** For experiment events. */
  name?: string;
  data?: unknown;
}

/** Which rollouts to list; all of them by default. */
export interface RolloutQuery {
  states?: readonly RolloutState[];
  /** As a list slice: negative drops that many from the end. */
  limit?: number;
}

/**
 * Single writer, many readers. A promise of `append` resolves after commit, and readers only see what is committed.
 */
export interface Store {
  /**
   * Writes all events or none; those of one tick share a transaction. Returns the sequence number afterwards.
   * @throws StoreError, see its codes.
   */
  append(events: readonly StoreEvent[]): Promise<number>;
  rollout(id: string): Promise<Rollout | null>;
  /** In order of creation. */
  rollouts(query?: RolloutQuery): Promise<Rollout[]>;
  /** One line per rollout, filtered, sorted and cut here: the table of any number of rollouts. */
  summaries(query: SummaryQuery): Promise<SummaryPage>;
  /** Finished rollouts from a cursor; deleted ones are left out while the cursor moves past them. */
  terminal(after: number, limit: number): Promise<TerminalPage>;
  /** Attempts that have events, by their first. */
  attempts(rolloutId: string): Promise<string[]>;
  /** Events and calls of one attempt as Agent Lightning shows them, in order of writing. */
  events(rolloutId: string, attemptId: string, eventType?: string): Promise<RolloutEvent[]>;
  /** What was posted to a rollout, its calls left out, in order of writing. */
  posted(rolloutId: string): Promise<RolloutEvent[]>;
  /** Calls of a rollout, or of one of its attempts, in order of writing. */
  calls(rolloutId: string, attemptId?: string): Promise<CallRecord[]>;
  failures(rolloutId: string): Promise<CallFailure[]>;
  log(after: number, limit: number): Promise<LogEntry[]>;
  /** The last experiment event of a name; null when there is none. */
  noted(name: string): Promise<LogEntry | null>;
  /** All experiment events of a name after a sequence number, in order. */
  notes(name: string, after?: number): Promise<LogEntry[]>;
  /** The last committed sequence number. */
  seq(): Promise<number>;
  /** Resolves with the sequence number as soon as it is greater than `after`. @throws CancelledError */
  changed(after: number, signal?: AbortSignal): Promise<number>;
  /** Commits what is pending and releases the lease. */
  close(): Promise<void>;
}
