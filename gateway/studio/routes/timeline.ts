import type { DeviceTimeline } from "../../../src/schema/device_timeline.ts";
import { queryOf } from "../../context.ts";
import type { Routes } from "../../http/routes.ts";
import { queryInteger } from "../../http/validation.ts";
import type { Studio } from "../studio.ts";

/** What the device did from stretch `after` on; nothing where no device is. */
export async function studioTimeline(studio: Studio, after: number): Promise<DeviceTimeline> {
  const { model } = studio.gateway.deps;
  return (await model?.engine.timeline?.(after)) ?? { spans: [], next: 0, dropped: 0 };
}

export function addTimelineRoute(routes: Routes, studio: Studio): void {
  routes.add("GET", "/studio/api/timeline", "What the device did when", async (c) => {
    await studio.gateway.requireAdmin(c);
    return Response.json(await studioTimeline(studio, Math.max(0, queryInteger(queryOf(c), "after", 0))));
  });
}
