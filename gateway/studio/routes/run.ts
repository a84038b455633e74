import type { StudioRun } from "../../../src/schema/studio_api.ts";
import type { Routes } from "../../http/routes.ts";
import type { Studio } from "../studio.ts";

/** The run as a whole, and what may be asked of it. */
export async function studioRun(studio: Studio): Promise<StudioRun> {
  const { control, model, policies, others, page } = studio.gateway.deps;
  const source = studio.source();
  const main = model === null ? [] : [studio.gateway.config.modelName];
  return {
    name: source.name,
    config: source.config,
    status: control?.status() ?? null,
    can: {
      control: control !== undefined,
      start: control?.start !== undefined,
      fork: model !== null && model.policy !== "null",
      report: page !== undefined && (await page.get("report.js")) !== null,
    },
    models: [...main, ...Object.keys(policies ?? {}), ...Object.keys(others ?? {})],
  };
}

export function addRunRoute(routes: Routes, studio: Studio): void {
  routes.add("GET", "/studio/api/run", "The run that is served", async (c) => {
    await studio.gateway.requireAdmin(c);
    return Response.json(await studioRun(studio));
  });
}
