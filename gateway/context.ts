/** What every route works with. */
import type { Context } from "hono";
import type { Store } from "../src/schema/store.ts";
import type { Rollout } from "../src/schema/wire.ts";
import { type Principal, principalOf } from "./auth.ts";
import { Calls } from "./calls/calls.ts";
import { type GatewayConfig, gatewayConfig } from "./config.ts";
import type { GatewayDeps } from "./deps.ts";
import { DetailError } from "./http/errors.ts";
import { RolloutKeys } from "./keys.ts";

/** The gateway behind its routes. */
export class Gateway {
  readonly deps: GatewayDeps;
  readonly config: GatewayConfig;
  readonly store: Store;
  readonly keys: RolloutKeys;
  readonly calls: Calls;

  constructor(deps: GatewayDeps) {
    this.deps = deps;
    this.config = gatewayConfig(deps.config ?? {});
    this.store = deps.store;
    this.keys = new RolloutKeys(this.config.key, deps.entropy);
    this.calls = new Calls(deps, this.config);
  }

  /** Seconds since the epoch. */
  now(): number {
    return this.deps.clock.now() / 1000;
  }

  /** Who a request comes from; null when it shows no good key. */
  principal(context: Context): Promise<Principal | null> {
    return principalOf(context.req.raw, this.config.key, this.keys);
  }

  /** @throws DetailError 401 without a good key, 403 for a rollout's key */
  async requireAdmin(context: Context): Promise<void> {
    const principal = await this.requirePrincipal(context);
    if (principal.kind === "admin") return;
    throw new DetailError(403, "A rollout's key calls its model and posts its own events, nothing else");
  }

  /** @throws DetailError 401 */
  async requirePrincipal(context: Context): Promise<Principal> {
    const principal = await this.principal(context);
    if (!principal) throw new DetailError(401, "Invalid or missing API key");
    return principal;
  }

  /** @throws DetailError 404 */
  async requireRollout(id: string): Promise<Rollout> {
    const rollout = await this.store.rollout(id);
    if (!rollout) throw new DetailError(404, `Rollout not found: ${id}`);
    return rollout;
  }
}

/** A route's path parameter. */
export function pathParam(context: Context, name: string): string {
  return context.req.param(name) ?? "";
}

/** The query of a request. */
export function queryOf(context: Context): URLSearchParams {
  return new URL(context.req.url).searchParams;
}
