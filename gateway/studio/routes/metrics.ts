import { LeydenError } from "../../../src/core/errors.ts";
import { queryOf } from "../../context.ts";
import { DetailError } from "../../http/errors.ts";
import type { Routes } from "../../http/routes.ts";
import { queryInteger } from "../../http/validation.ts";
import type { Studio } from "../studio.ts";

/** A run that is not there is a path that is not there; one whose files are damaged says which. */
async function found<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    if (thrown instanceof LeydenError && thrown.code === "run_missing") throw new DetailError(404, thrown.message);
    if (thrown instanceof LeydenError && thrown.code === "run_config") {
      throw new DetailError(422, `${thrown.message} ${thrown.do}`);
    }
    throw thrown;
  }
}

export function addMetricsRoutes(routes: Routes, studio: Studio): void {
  const { gateway } = studio;
  routes.add("GET", "/studio/api/metrics", "Lines of metrics.jsonl after an update", async (c) => {
    await gateway.requireAdmin(c);
    const query = queryOf(c);
    const run = query.get("run") ?? undefined;
    const lines = await found(studio.source().metrics(queryInteger(query, "after", -1), run));
    const config = run === undefined ? undefined : await found(studio.source().configOf(run));
    return Response.json({ lines, ...(config === undefined ? {} : { config }) });
  });
  routes.add("GET", "/studio/api/runs", "Runs beside this one", async (c) => {
    await gateway.requireAdmin(c);
    return Response.json({ runs: await studio.source().runs() });
  });
}
