import { callConformance } from "./calls.ts";
import { eventConformance } from "./events.ts";
import { lifeConformance } from "./life.ts";
import { logConformance } from "./log.ts";
import { rolloutConformance } from "./rollouts.ts";
import type { OpenStore } from "./store_events.ts";
import { summaryConformance } from "./summaries.ts";
import { terminalConformance } from "./terminal.ts";

/** What every store does: runs all parts against stores that `open` makes, each empty. */
export function storeConformance(name: string, open: OpenStore): void {
  rolloutConformance(name, open);
  terminalConformance(name, open);
  eventConformance(name, open);
  callConformance(name, open);
  logConformance(name, open);
  lifeConformance(name, open);
  summaryConformance(name, open);
}
