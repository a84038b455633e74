/** The gateway as a package: `leyden/gateway`. */

export { MemoryStore } from "../src/store/memory_store.ts";
export { createApp, type GatewayApp } from "./app.ts";
export { knownSideRules, type SideRule } from "./calls/side_rules.ts";
export { type GatewayConfig, type GatewayLimits, type GatewayOptions, gatewayDefaults } from "./config.ts";
export type { GatewayDeps, ServedModel } from "./deps.ts";
