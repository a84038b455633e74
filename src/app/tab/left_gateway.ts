import { createApp, type GatewayApp } from "../../../gateway/app.ts";
import { asLeydenError } from "../../core/errors.ts";
import type { RunControl } from "../../schema/run_control.ts";
import { MemoryStore } from "../../store/memory_store.ts";
import type { LeftRun } from "./left_run.ts";
import { runParts } from "./run_parts.ts";
import type { TabParts } from "./tab_parts.ts";

/**
 * The gateway while no run is at work: the studio shows what the last one left, and no model answers. Without `viewed` no
 * records are open, as while those of another run are being opened.
 */
export function leftGateway(
  parts: TabParts,
  control: RunControl,
  { experiment, config, viewed }: Pick<LeftRun, "experiment" | "config" | "viewed">,
): GatewayApp {
  const { platform, key, page, say } = parts;
  const { clock, entropy } = platform;
  const shown = experiment === null || config === null ? null : runParts(parts, control, experiment, config);
  const store = viewed ?? new MemoryStore();
  const report = (fault: unknown): void => say(`gateway: ${asLeydenError(fault).message}`);
  const view = shown === null ? { control, page } : shown(store);
  return createApp({ store, model: null, clock, entropy, config: { key }, report, ...view });
}
