/** The package entry: what experiments, datasets and graders are written with. */
export { deriveKey, Rng, type RngKey, seedKey } from "./core/rng.ts";
export type { AgentCommand, PrepareAgent, PrepareContext } from "./schema/agent.ts";
export type { Dataset, TaskRow, TaskStream } from "./schema/task.ts";
