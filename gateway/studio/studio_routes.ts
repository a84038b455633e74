import type { Gateway } from "../context.ts";
import type { Routes } from "../http/routes.ts";
import { addChangesRoute } from "./routes/changes.ts";
import { addChoicesRoute } from "./routes/choices.ts";
import { addControlRoute } from "./routes/control.ts";
import { addForkRoute } from "./routes/fork.ts";
import { addGroupsRoute } from "./routes/groups.ts";
import { addMetricsRoutes } from "./routes/metrics.ts";
import { addPageRoute } from "./routes/page.ts";
import { addReportRoutes } from "./routes/report.ts";
import { addRewardsRoute } from "./routes/rewards.ts";
import { addRolloutRoutes } from "./routes/rollout.ts";
import { addRolloutsRoute } from "./routes/rollouts.ts";
import { addRunRoute } from "./routes/run.ts";
import { addTimelineRoute } from "./routes/timeline.ts";
import { Studio } from "./studio.ts";

/** What people look at a run with. Everything but the page's own files takes the admin's key. */
export function addStudioRoutes(routes: Routes, gateway: Gateway): void {
  const studio = new Studio(gateway);
  addRunRoute(routes, studio);
  addChoicesRoute(routes, studio);
  addControlRoute(routes, studio);
  addMetricsRoutes(routes, studio);
  addRolloutsRoute(routes, studio);
  addRolloutRoutes(routes, studio);
  addForkRoute(routes, studio);
  addRewardsRoute(routes, studio);
  addGroupsRoute(routes, studio);
  addTimelineRoute(routes, studio);
  addChangesRoute(routes, studio);
  addReportRoutes(routes, studio);
  addPageRoute(routes, studio);
}
