import { knownStatus } from "../../../src/schema/known_status.ts";
import type { StudioChanges } from "../../../src/schema/studio_api.ts";
import { queryOf } from "../../context.ts";
import type { Routes } from "../../http/routes.ts";
import { queryInteger } from "../../http/validation.ts";
import type { Studio } from "../studio.ts";

const longestWaitSeconds = 60;
const changesAtOnce = 2000;

/** Until the store goes past the cursor, the run's status changes, the time is up, or the client is gone. */
async function waitForChange({ gateway }: Studio, after: number, seconds: number, signal: AbortSignal): Promise<void> {
  const { store, deps } = gateway;
  const over = new AbortController();
  const ends = AbortSignal.any([signal, over.signal]);
  const ignore = (): void => {};
  let unlisten = ignore;
  const steered = new Promise<void>((resolve) => {
    unlisten = deps.control?.onChange(resolve) ?? ignore;
  });
  await Promise.race([
    store.changed(after, ends).catch(ignore),
    deps.clock.sleep(seconds * 1000, ends).catch(ignore),
    steered,
  ]);
  unlisten();
  over.abort();
}

export function addChangesRoute(routes: Routes, studio: Studio): void {
  const { gateway } = studio;
  routes.add("GET", "/studio/api/changes", "What happened after a cursor; waits for it", async (c) => {
    await gateway.requireAdmin(c);
    const query = queryOf(c);
    const after = queryInteger(query, "after", -1);
    const status = () => gateway.deps.control?.status() ?? null;
    if (after < 0) {
      const now: StudioChanges = { cursor: await gateway.store.seq(), rollouts: [], updated: false, status: status() };
      return Response.json(now);
    }
    const seconds = Math.min(longestWaitSeconds, Math.max(0, queryInteger(query, "wait_seconds", 0)));
    const signal = gateway.calls.signalOf(c.req.raw);
    // The status may have changed between two questions, without an event that the cursor would stand before.
    const known = query.get("known");
    const isNews = known !== null && known !== knownStatus(status());
    if (seconds > 0 && !isNews) await waitForChange(studio, after, seconds, signal);
    const entries = await gateway.store.log(after, changesAtOnce);
    const changes: StudioChanges = {
      cursor: entries.at(-1)?.seq ?? after,
      rollouts: [...new Set(entries.flatMap(({ rolloutId }) => (rolloutId === "" ? [] : [rolloutId])))],
      updated: entries.some(({ type, name }) => type === "experiment" && name === "update"),
      status: status(),
    };
    return Response.json(changes);
  });
}
