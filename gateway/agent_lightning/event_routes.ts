/** Agent Lightning's events of an attempt. */
import { isTerminal } from "../../src/schema/rollout.ts";
import { StoreError } from "../../src/schema/store_error.ts";
import {
  type EventCreate,
  eventCreateSchema,
  eventTypes,
  type Rollout,
  type RolloutEvent,
} from "../../src/schema/wire.ts";
import type { Principal } from "../auth.ts";
import { type Gateway, pathParam, queryOf } from "../context.ts";
import { readJson } from "../http/body.ts";
import { DetailError } from "../http/errors.ts";
import type { Routes } from "../http/routes.ts";
import { requireOwnAttempt } from "../http/scope.ts";
import { validated } from "../http/validation.ts";
import { triplets } from "./triplet.ts";

/**
 * A reward that an agent posts for itself is a claim, unless its rollout says that agents' rewards count and has not
 * ended: what was decided at the end stays.
 */
function typeOf(create: EventCreate, principal: Principal, { config, status }: Rollout): string {
  const counts = principal.kind === "admin" || (config.reward?.source === "agent" && !isTerminal(status.state));
  return create.event_type === eventTypes.reward && !counts ? eventTypes.claimedReward : create.event_type;
}

export function addEventRoutes(routes: Routes, gateway: Gateway): void {
  const { store } = gateway;
  const { bodyBytes } = gateway.config.limits;

  routes.add("POST", "/api/rollouts/:rollout_id/attempt/:attempt_id/events", "Add an event", async (c) => {
    const body = await readJson(c.req.raw, bodyBytes);
    const principal = await gateway.requirePrincipal(c);
    const rolloutId = pathParam(c, "rollout_id");
    const attemptId = pathParam(c, "attempt_id");
    requireOwnAttempt(principal, rolloutId, attemptId);
    const create = validated(eventCreateSchema, body);
    const rollout = await gateway.requireRollout(rolloutId);
    const event: RolloutEvent = {
      event_type: typeOf(create, principal, rollout),
      rollout_id: rolloutId,
      attempt_id: attemptId,
      timestamp: gateway.now(),
      data: create.data ?? {},
    };
    try {
      const eventId = create.event_id ?? undefined;
      await store.append([{ type: "event_posted", event, ...(eventId === undefined ? {} : { eventId }) }]);
    } catch (thrown) {
      if (thrown instanceof StoreError && thrown.code === "rollout_not_found")
        throw new DetailError(404, thrown.message);
      throw thrown;
    }
    return Response.json(event);
  });

  routes.add("GET", "/api/rollouts/:rollout_id/events", "Events of the last attempt, raw or as triplets", async (c) => {
    await gateway.requireAdmin(c);
    const rollout = await gateway.requireRollout(pathParam(c, "rollout_id"));
    const query = queryOf(c);
    const attemptId = rollout.status.last_attempt_id || "0";
    const events = await store.events(rollout.rollout_id, attemptId, query.get("event_type") ?? undefined);
    return Response.json(query.get("format") === "triplet" ? triplets(events) : events);
  });
}
