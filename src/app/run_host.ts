import type { GatewayApp } from "../../gateway/app.ts";
import type { ListenOptions, ServedGateway } from "../../gateway/listening.ts";
import type { AgentCommand } from "../schema/agent.ts";
import type { ExperimentConfig } from "../schema/experiment.ts";
import type { Platform } from "../schema/platform.ts";
import type { ProcessHost } from "../schema/process_host.ts";
import type { Store } from "../schema/store.ts";
import type { RunHold } from "./run_hold.ts";
import type { Telemetry } from "./telemetry.ts";

/** A configuration, and the folder its relative paths start from. */
export interface PlacedConfig {
  readonly config: ExperimentConfig;
  readonly configFolder: string;
  /** Tells the person one line. */
  say(line: string): void;
}

/** What a run needs of where it runs: a system with processes, files and ports, or a tab. */
export interface RunHost {
  readonly platform: Platform;
  /** Starts agents, and what graders run. */
  readonly processes: ProcessHost;
  /** Put in front of agents' command lines, such as ["nice", "-n", "10"]. */
  launcher(config: ExperimentConfig): readonly string[];
  /** The agent that a configuration names, ready to be started many times. @throws ConfigError */
  agent(placed: PlacedConfig): Promise<AgentCommand>;
  /**
   * A module that a configuration in `folder` names by a path of its own.
   * @throws ConfigError when it is not there, has a fault or throws
   */
  importModule(folder: string, path: string): Promise<Record<string, unknown>>;
  /** Opens a store for writing: "memory", or a SQLite file. @throws StoreError */
  openStore(place: string): Promise<Store>;
  /**
   * Takes a run's folder for this process; absent where one program has all folders by itself.
   * @throws LeydenError "run_in_use" when another process trains there
   */
  holdRun?(folder: string): Promise<RunHold>;
  /** Makes a gateway reachable for agents. @throws EnvironmentError "cannot_listen" */
  listen(app: GatewayApp, options: ListenOptions): Promise<ServedGateway>;
  /** Spans of what happens in a store, to a collector; null where none is named. */
  openTelemetry(store: Store, endpoint: string, say: (line: string) => void): Promise<Telemetry | null>;
}
