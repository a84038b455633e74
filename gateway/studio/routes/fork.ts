import { forkRequestSchema } from "../../../src/schema/studio_api.ts";
import { pathParam } from "../../context.ts";
import { readJson } from "../../http/body.ts";
import type { Routes } from "../../http/routes.ts";
import { validated } from "../../http/validation.ts";
import { forkCall } from "../forks.ts";
import type { Studio } from "../studio.ts";

export function addForkRoute(routes: Routes, studio: Studio): void {
  const { gateway } = studio;
  const path = "/studio/api/rollouts/:rollout_id/calls/:call_id/fork";
  routes.add("POST", path, "Asks a recorded call again, with changes", async (c) => {
    await gateway.requireAdmin(c);
    const body = (await readJson(c.req.raw, gateway.config.limits.bodyBytes)) ?? {};
    const request = validated(forkRequestSchema, body);
    return Response.json(await forkCall(studio, pathParam(c, "rollout_id"), pathParam(c, "call_id"), request));
  });
}
