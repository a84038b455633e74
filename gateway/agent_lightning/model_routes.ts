/** Agent Lightning's registry of model endpoints. */
import { modelEndpointListSchema } from "../../src/schema/wire_proxy.ts";
import type { Gateway } from "../context.ts";
import { readJson } from "../http/body.ts";
import type { Routes } from "../http/routes.ts";
import { validated } from "../http/validation.ts";

export function addModelRoutes(routes: Routes, gateway: Gateway): void {
  routes.add("POST", "/api/models", "Register model endpoints", async (c) => {
    const body = await readJson(c.req.raw, gateway.config.limits.bodyBytes);
    await gateway.requireAdmin(c);
    const endpoints = validated(modelEndpointListSchema, body);
    await gateway.calls.endpoints.put(endpoints);
    return Response.json(endpoints, { status: 201 });
  });

  routes.add("DELETE", "/api/models", "Remove all model endpoints", async (c) => {
    await gateway.requireAdmin(c);
    await gateway.calls.endpoints.clear();
    return Response.json({ status: "ok" });
  });
}
