import type { RunStatus } from "../../schema/run_control.ts";

/** What is shown before the gateway has answered. */
export const idleStatus: RunStatus = {
  phase: "idle",
  experiment: "",
  update: 0,
  updates: 0,
  config: null,
  adapter: "",
  runtime: "browser",
  startup: null,
  error: null,
};
