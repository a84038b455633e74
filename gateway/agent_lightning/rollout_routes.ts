/** Agent Lightning's rollouts: create, list, read, patch, delete, and the cursor over finished ones. */
import { hex } from "../../src/core/clock.ts";
import { newRollout } from "../../src/schema/rollout.ts";
import { StoreError } from "../../src/schema/store_error.ts";
import {
  type Rollout,
  type RolloutCreate,
  type RolloutState,
  rolloutCreateListSchema,
  rolloutMetadataSchema,
  rolloutPatchSchema,
  rolloutStates,
} from "../../src/schema/wire.ts";
import { type Gateway, pathParam, queryOf } from "../context.ts";
import { readJson } from "../http/body.ts";
import { DetailError } from "../http/errors.ts";
import type { Routes } from "../http/routes.ts";
import { queryInteger, queryProblem, validated } from "../http/validation.ts";

/** Refusals of the store in Agent Lightning's words. */
function asDetail(thrown: unknown): unknown {
  if (!(thrown instanceof StoreError)) return thrown;
  if (thrown.code === "rollout_not_found") return new DetailError(404, thrown.message);
  return thrown.code === "illegal_transition" ? new DetailError(409, thrown.message) : thrown;
}

/** Makes one rollout, or finds the one that has its id. @throws ZodError for metadata of a wrong type */
async function createOne(gateway: Gateway, create: RolloutCreate): Promise<Rollout> {
  const metadata = rolloutMetadataSchema.parse(create.metadata ?? {});
  const id = create.rollout_id || hex(gateway.deps.entropy.bytes(16));
  const rollout = newRollout({ ...create, metadata }, id, gateway.now());
  await gateway.store.append([{ type: "rollout_created", rollout }]);
  return await gateway.requireRollout(id);
}

function statesOf(query: URLSearchParams): RolloutState[] {
  const words = query.getAll("state_in");
  if (words.length === 0) throw queryProblem("missing", "state_in", "Field required", null);
  for (const word of words) {
    if ((rolloutStates as readonly string[]).includes(word)) continue;
    throw queryProblem("enum", "state_in", "Input should be 'queuing', 'running', 'succeeded' or 'failed'", word);
  }
  return words as RolloutState[];
}

export function addRolloutRoutes(routes: Routes, gateway: Gateway): void {
  const { store } = gateway;
  const { bodyBytes } = gateway.config.limits;

  routes.add("POST", "/api/rollouts", "Create rollouts; an id that exists returns what is stored", async (c) => {
    const body = await readJson(c.req.raw, bodyBytes);
    await gateway.requireAdmin(c);
    // One after the other: what comes before an item that fails stays.
    const created: Rollout[] = [];
    for (const create of validated(rolloutCreateListSchema, body)) created.push(await createOne(gateway, create));
    return Response.json(created, { status: 201 });
  });

  routes.add("GET", "/api/rollouts", "List rollouts by state", async (c) => {
    await gateway.requireAdmin(c);
    const query = queryOf(c);
    return Response.json(await store.rollouts({ states: statesOf(query), limit: queryInteger(query, "limit", 500) }));
  });

  routes.add("GET", "/api/rollouts/terminal", "Finished rollouts after a cursor", async (c) => {
    await gateway.requireAdmin(c);
    const query = queryOf(c);
    const after = Math.max(0, queryInteger(query, "after", 0));
    const limit = Math.max(1, queryInteger(query, "limit", 1000));
    return Response.json(await store.terminal(after, limit));
  });

  routes.add("GET", "/api/rollouts/:rollout_id", "One rollout and its attempts", async (c) => {
    await gateway.requireAdmin(c);
    const rollout = await gateway.requireRollout(pathParam(c, "rollout_id"));
    return Response.json({ rollout, attempts: await store.attempts(rollout.rollout_id) });
  });

  routes.add("PATCH", "/api/rollouts/:rollout_id", "Change a rollout's status", async (c) => {
    const body = await readJson(c.req.raw, bodyBytes);
    await gateway.requireAdmin(c);
    const { status } = validated(rolloutPatchSchema, body);
    const rolloutId = pathParam(c, "rollout_id");
    try {
      await store.append([{ type: "rollout_patched", rolloutId, patch: status ?? {}, at: gateway.now() }]);
    } catch (thrown) {
      throw asDetail(thrown);
    }
    return Response.json(await gateway.requireRollout(rolloutId));
  });

  routes.add("DELETE", "/api/rollouts/:rollout_id", "Delete a rollout with its events and calls", async (c) => {
    await gateway.requireAdmin(c);
    await store.append([{ type: "rollout_deleted", rolloutId: pathParam(c, "rollout_id"), at: gateway.now() }]);
    return new Response(null, { status: 204 });
  });
}
