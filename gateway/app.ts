/** The gateway as an application of Web Standards: requests in, responses out, on any runtime. */
import { addAdminRoutes } from "./admin_routes.ts";
import { addDescriptionRoutes } from "./agent_lightning/description_routes.ts";
import { addEventRoutes } from "./agent_lightning/event_routes.ts";
import { addModelRoutes } from "./agent_lightning/model_routes.ts";
import { addPauseRoutes } from "./agent_lightning/pause_routes.ts";
import { addProxyRoute } from "./agent_lightning/proxy_route.ts";
import { addRolloutRoutes } from "./agent_lightning/rollout_routes.ts";
import { Gateway } from "./context.ts";
import type { GatewayDeps } from "./deps.ts";
import { addCountTokensRoutes } from "./dialects/count_tokens_route.ts";
import { addModelCallRoutes } from "./dialects/model_routes.ts";
import { addModelsRoutes } from "./dialects/models_route.ts";
import { refusePath } from "./dialects/refused_paths.ts";
import { addResponseRoutes } from "./dialects/responses_routes.ts";
import { asApiError, DetailError } from "./http/errors.ts";
import type { Peer } from "./http/peer.ts";
import { Routes } from "./http/routes.ts";
import { addLessonRoutes } from "./lessons/lesson_routes.ts";
import { addMetricsRoute } from "./metrics/metrics_route.ts";
import { addRoomRoutes } from "./room/room_routes.ts";
import { addStudioRoutes } from "./studio/studio_routes.ts";

/** A gateway that is ready to answer. */
export interface GatewayApp {
  /** Answers a request, as servers call it; `peer` sent it. */
  fetch(request: Request, peer?: Peer): Response | Promise<Response>;
  /** Answers a request made from an address or a path, as tests and pages call it. */
  request(input: string | Request | URL, init?: RequestInit): Response | Promise<Response>;
  /** The key of an attempt's agent: opens its model and its events. */
  issueKey(rolloutId: string, attemptId: string): Promise<string>;
  /** Calls of an attempt that wait for their reply. */
  waitingCalls(rolloutId: string, attemptId: string): number;
  /** Refuses new calls and waits for those under way, at most `limitMs`, then ends them. True when none was left. */
  drain(limitMs: number): Promise<boolean>;
}

/** Makes a gateway of its parts. */
export function createApp(deps: GatewayDeps): GatewayApp {
  const gateway = new Gateway(deps);
  const routes = new Routes();
  addMetricsRoute(routes, gateway);
  addDescriptionRoutes(routes);
  addRolloutRoutes(routes, gateway);
  addEventRoutes(routes, gateway);
  addModelRoutes(routes, gateway);
  addProxyRoute(routes, gateway);
  addPauseRoutes(routes, gateway);
  // Counts stand before the calls whose addresses could be read to mean them.
  addCountTokensRoutes(routes, gateway);
  addModelCallRoutes(routes, gateway);
  addModelsRoutes(routes, gateway);
  addResponseRoutes(routes, gateway);
  addAdminRoutes(routes, gateway);
  addStudioRoutes(routes, gateway);
  addLessonRoutes(routes, gateway);
  addRoomRoutes(routes, gateway);
  routes.close(refusePath);
  routes.app.onError((fault) => {
    if (fault instanceof DetailError) return fault.response();
    const error = asApiError(fault);
    if (error.code !== "internal") {
      return Response.json(error.openAi(), { status: error.status, headers: error.headers });
    }
    deps.report?.(fault);
    return new Response("Internal Server Error", {
      status: 500,
      headers: { "content-type": "text/plain; charset=utf-8" },
    });
  });
  return {
    fetch: (request, peer) => routes.app.fetch(request, peer),
    request: (input, init) => routes.app.request(input, init),
    issueKey: (rolloutId, attemptId) => gateway.keys.issue({ rolloutId, attemptId }),
    waitingCalls: (rolloutId, attemptId) => gateway.calls.waiting(rolloutId, attemptId),
    drain: (limitMs) => gateway.calls.drain(limitMs),
  };
}
