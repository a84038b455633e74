import type { PrepareAgent } from "leyden";

/** The agent as one file: a run starts it some thousand times, and each start then costs less than half. */
export const prepare: PrepareAgent = ({ bundle }) => bundle(["agent.ts"]);
