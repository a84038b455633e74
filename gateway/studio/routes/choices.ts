import type { Routes } from "../../http/routes.ts";
import type { Studio } from "../studio.ts";

export function addChoicesRoute(routes: Routes, studio: Studio): void {
  routes.add("GET", "/studio/api/choices", "Experiments that may be started", async (c) => {
    await studio.gateway.requireAdmin(c);
    return Response.json({ choices: (await studio.gateway.deps.control?.choices()) ?? [] });
  });
}
