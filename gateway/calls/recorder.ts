import type { Clock } from "../../src/core/clock.ts";
import type { CallFailure, CallRecord, Store, StoreEvent } from "../../src/schema/store.ts";
import { eventTypes } from "../../src/schema/wire.ts";
import type { DeliveryWatch } from "../http/delivery.ts";
import { asApiError } from "../http/errors.ts";
import type { Attempt } from "./attempt.ts";
import type { Identity } from "./identity.ts";
import { type Refusal, refusalData } from "./refusal.ts";

/** Writes what became of calls. */
export class Recorder {
  private readonly store: Store;
  private readonly clock: Clock;
  /** Deliveries that could not be written. */
  lostDeliveries = 0;

  constructor(store: Store, clock: Clock) {
    this.store = store;
    this.clock = clock;
  }

  /** Seconds since the epoch. */
  now(): number {
    return this.clock.now() / 1000;
  }

  /** Resolves when the calls are committed. */
  async record(calls: readonly CallRecord[]): Promise<void> {
    await this.store.append(calls.map((call) => ({ type: "call_recorded", call })));
  }

  /** A call that a model answered with an error: an event, since it has no tokens to train on. */
  async recordRefusal(identity: Identity, refusal: Refusal): Promise<void> {
    const { rolloutId, attemptId } = identity;
    const event = {
      event_type: eventTypes.modelRequest,
      rollout_id: rolloutId,
      attempt_id: attemptId,
      timestamp: this.now(),
      data: { ...refusalData(refusal) },
    };
    await this.store.append([{ type: "event_posted", event }]);
  }

  /** A call that came to nothing. Never throws: the caller has an error of its own to report. */
  async recordFailure(identity: Identity, thrown: unknown, latencyMs: number, retryCount: number): Promise<void> {
    const { code, message, status } = asApiError(thrown);
    const failure: CallFailure = {
      rolloutId: identity.rolloutId,
      attemptId: identity.attemptId,
      code: code === "cancelled" ? "abandoned" : code,
      message,
      httpStatus: status,
      latencyMs,
      retryCount,
      timestamp: this.now(),
    };
    await this.store.append([{ type: "call_failed", failure }]).catch(() => {});
  }

  /** Notes whether the harness got the reply that these recorded calls are; siblings share one. */
  watch(calls: readonly CallRecord[], attempt: Attempt): DeliveryWatch {
    const note = (delivery: "delivered" | "abandoned") => {
      const events = calls.map(
        (call): StoreEvent => ({ type: "call_delivery", callId: call.id, delivery, at: this.now() }),
      );
      // The rollout may be deleted before its last reply is taken: then there is nothing left to note.
      this.store.append(events).catch(() => {
        this.lostDeliveries++;
      });
    };
    return {
      delivered: () => note("delivered"),
      abandoned: () => {
        for (const { id, callKey } of calls) attempt.abandon(id, callKey);
        note("abandoned");
      },
    };
  }
}
