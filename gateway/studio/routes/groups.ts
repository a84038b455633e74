import { pathParam } from "../../context.ts";
import { DetailError } from "../../http/errors.ts";
import type { Routes } from "../../http/routes.ts";
import type { Studio } from "../studio.ts";

export function addGroupsRoute(routes: Routes, studio: Studio): void {
  routes.add("GET", "/studio/api/groups/:group_id", "A group's rewards, baseline and advantages", async (c) => {
    await studio.gateway.requireAdmin(c);
    const group = pathParam(c, "group_id");
    const credit = await studio.source().credit(group);
    if (credit === null) throw new DetailError(404, `Group not found: ${group}`);
    return Response.json(credit);
  });
}
