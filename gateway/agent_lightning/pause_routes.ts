/** Agent Lightning's pause and resume of model calls. */
import { pauseRequestSchema } from "../../src/schema/wire_proxy.ts";
import type { Gateway } from "../context.ts";
import { readJson } from "../http/body.ts";
import type { Routes } from "../http/routes.ts";
import { validated } from "../http/validation.ts";

export function addPauseRoutes(routes: Routes, gateway: Gateway): void {
  const { gate } = gateway.calls;

  routes.add("POST", "/proxy/pause", "Stop admitting model calls", async (c) => {
    const body = await readJson(c.req.raw, gateway.config.limits.bodyBytes);
    await gateway.requireAdmin(c);
    gate.pause(validated(pauseRequestSchema, body));
    return Response.json(gate.state());
  });

  routes.add("POST", "/proxy/resume", "Admit model calls again", async (c) => {
    await gateway.requireAdmin(c);
    gate.resume();
    return Response.json(gate.state());
  });

  routes.add("GET", "/proxy/state", "Whether calls are admitted, and how many are under way", async (c) => {
    await gateway.requireAdmin(c);
    return Response.json(gate.state());
  });
}
