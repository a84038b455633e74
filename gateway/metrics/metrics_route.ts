/**
 * Numbers for Prometheus. They are sums over everything and name no rollout: on this computer whoever asks may read them;
 * from elsewhere it takes the admin's key, as the bearer token that Prometheus sends when it is given one.
 */
import type { Gateway } from "../context.ts";
import { isLoopback, peerAddress } from "../http/peer.ts";
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
  routes.add("GET", "/metrics", "Numbers for Prometheus", async (c) => {
    if (!isLoopback(peerAddress(c))) await gateway.requireAdmin(c);
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
