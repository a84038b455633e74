import type { DeviceTimeline } from "../../../src/schema/device_timeline.ts";
import { queryOf } from "../../context.ts";
import type { Routes } from "../../http/routes.ts";
import { queryInteger } from "../../http/validation.ts";
import type { Studio } from "../studio.ts";

/**
 * What the device did from stretch `after` of the engine on; from 0 on, what the run's folder keeps of earlier times comes
 * first.
 */
export async function studioTimeline(studio: Studio, after: number): Promise<DeviceTimeline> {
  const { model, studio: source } = studio.gateway.deps;
  const live = (await model?.engine.timeline?.(after)) ?? { spans: [], next: 0, dropped: 0 };
  if (after > 0 || source === undefined) return live;
  const kept = await source.timeline();
  const begin = live.spans[0]?.start ?? Number.POSITIVE_INFINITY;
  const earlier = kept.spans.filter(({ start, seconds }) => start + seconds <= begin);
  return { spans: [...earlier, ...live.spans], next: live.next, dropped: kept.dropped };
}

export function addTimelineRoute(routes: Routes, studio: Studio): void {
  routes.add("GET", "/studio/api/timeline", "What the device did when", async (c) => {
    await studio.gateway.requireAdmin(c);
    return Response.json(await studioTimeline(studio, Math.max(0, queryInteger(queryOf(c), "after", 0))));
  });
}
