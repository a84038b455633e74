/** Numbers for Prometheus. They are sums over everything and name no rollout, so they take no key, as /healthz. */
import type { Gateway } from "../context.ts";
import type { Routes } from "../http/routes.ts";
import { exposition, expositionType } from "./exposition.ts";
import { engineFamilies, gatewayFamilies, runFamilies } from "./families.ts";

/** Counts responses by status, and serves them with what engine and run say. */
export function addMetricsRoute(routes: Routes, gateway: Gateway): void {
  const responses = new Map<number, number>();
  routes.app.use(async (context, next) => {
    await next();
    const { status } = context.res;
    responses.set(status, (responses.get(status) ?? 0) + 1);
  });
  routes.add("GET", "/metrics", "Numbers for Prometheus", async () => {
    const { model, runMetrics } = gateway.deps;
    const engine = model === null ? [] : engineFamilies(await model.engine.stats(), await model.engine.info());
    const families = [
      ...gatewayFamilies(gateway.calls.gate.state(), responses),
      ...engine,
      ...runFamilies(runMetrics?.() ?? {}),
    ];
    return new Response(exposition(families), { headers: { "content-type": expositionType } });
  });
}
