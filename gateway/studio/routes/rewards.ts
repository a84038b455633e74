import { regradeRequestSchema, type StudioRegrade } from "../../../src/schema/studio_api.ts";
import { pathParam } from "../../context.ts";
import { readJson } from "../../http/body.ts";
import { DetailError } from "../../http/errors.ts";
import type { Routes } from "../../http/routes.ts";
import { validated } from "../../http/validation.ts";
import type { Studio } from "../studio.ts";

export function addRewardsRoute(routes: Routes, studio: Studio): void {
  const { gateway } = studio;
  const path = "/studio/api/rollouts/:rollout_id/reward";
  routes.add("POST", path, "Advantages of a group if a rollout had earned something else", async (c) => {
    await gateway.requireAdmin(c);
    const id = pathParam(c, "rollout_id");
    await gateway.requireRollout(id);
    const { reward } = validated(regradeRequestSchema, await readJson(c.req.raw, gateway.config.limits.bodyBytes));
    const [line] = (await gateway.store.summaries({ limit: 1, ids: [id] })).rows;
    const group = line?.group ?? "";
    if (group === "") throw new DetailError(409, `Rollout ${id} belongs to no group that it is compared with`);
    const before = await studio.source().credit(group);
    const after = await studio.source().credit(group, { [id]: reward });
    if (before === null || after === null) throw new DetailError(404, `Group not found: ${group}`);
    const answer: StudioRegrade = { before, after };
    return Response.json(answer);
  });
}
