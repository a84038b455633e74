import type { ExperimentChoice } from "../../schema/run_control.ts";
import type { TabHost } from "../tab/tab_host.ts";
import type { ModelMemory } from "./model_memory.ts";
import type { Say } from "./texts.ts";

/** What the parts of the section of models share. */
export interface PanelProps {
  readonly say: Say;
  readonly tab: TabHost;
  /** Something is being brought in, taken out or deleted. */
  readonly busy: boolean;
  readonly choices: readonly ExperimentChoice[];
  /** Another number when what is kept has changed. */
  readonly version: number;
  readonly memory: ModelMemory;
  /** Says what is being done, does it, and says what it returns, or what went wrong. */
  work(doing: string, body: () => Promise<string>): Promise<void>;
  /** What is kept has changed. */
  changed(): void;
}
