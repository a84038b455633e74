import type { GatewayApp } from "../../../gateway/app.ts";
import { servePort } from "../../../gateway/serve_port.ts";
import { ConfigError, FormatError } from "../../core/errors.ts";
import type { BrowserSqlite } from "../../platform/wasm_sqlite.ts";
import { workerProcesses } from "../../platform/worker_processes.ts";
import type { AgentCommand } from "../../schema/agent.ts";
import type { AgentStart } from "../../schema/agent_worker.ts";
import type { Platform } from "../../schema/platform.ts";
import type { ProcessHost } from "../../schema/process_host.ts";
import type { Store } from "../../schema/store.ts";
import { MemoryStore } from "../../store/memory_store.ts";
import { openSqlStore } from "../../store/sql_store.ts";
import type { PlacedConfig, RunHost } from "../run_host.ts";
import type { TabExperiment } from "./experiments.ts";
import type { AgentWay } from "./tab_messages.ts";
import { innerGatewayUrl } from "./tab_places.ts";

/** What is used of the tab's databases. */
export type TabSqlite = Pick<BrowserSqlite, "dialect" | "open" | "reserve">;

/** What the run of a tab is hosted by. */
export interface TabRunParts {
  readonly platform: Platform;
  readonly sqlite: BrowserSqlite;
  readonly experiment: TabExperiment;
  /** A script that comes with the page, by its path there. */
  scriptAt(path: string): AgentStart["script"];
  /** Where agents' requests go. */
  readonly agents: AgentWay;
  /** Address of the gateway behind the service worker; null: there is none. */
  readonly gatewayUrl: string | null;
  /** The gateway in use: what the page and the agents talk to from now on. */
  use(app: GatewayApp): Promise<void>;
  /** Puts another gateway to use; resolves when the run's has answered everything. */
  leave(): Promise<void>;
}

/** Runs in a tab: agents are web workers, the gateway is reached through ports. */
export function tabRunHost(parts: TabRunParts): RunHost {
  const { platform, sqlite, experiment, use, leave } = parts;
  const outer = parts.agents === "service-worker" ? parts.gatewayUrl : null;
  let app: GatewayApp | null = null;
  return {
    platform,
    processes: agentWorkers(parts, outer, () => app),
    launcher: () => [],
    agent: async (placed) => agentOf(placed),
    async importModule(_folder, path) {
      const load = experiment.modules[path];
      if (load !== undefined) return load();
      const known = Object.keys(experiment.modules).join(", ");
      throw new ConfigError(`The page has no module ${path} of ${experiment.id}.`, { do: `Use one of: ${known}.` });
    },
    openStore: (place) => openTabStore(platform, sqlite, place),
    async listen(opened, _options) {
      app = opened;
      // The one before it reads nothing that would have to be closed.
      void use(opened);
      return { url: outer ?? innerGatewayUrl, close: () => leave() };
    },
    openTelemetry: async () => null,
  };
}

function agentWorkers(
  { platform, experiment, scriptAt }: TabRunParts,
  outer: string | null,
  app: () => GatewayApp | null,
): ProcessHost {
  const gateway = {
    url: innerGatewayUrl,
    serve: (port: MessagePort) => servePort({ fetch: (request) => app()?.fetch(request) ?? Response.error() }, port),
  };
  return workerProcesses({
    module: new URL("./agent_worker.ts", import.meta.url),
    files: platform.files,
    gateway: outer === null ? gateway : null,
    scriptOf(name) {
      const path = experiment.scripts[name];
      return path === undefined ? undefined : scriptAt(path);
    },
  });
}

/** The configured command line; what a process would have of a file system is refused by name. */
function agentOf({ config: { rollout: r } }: PlacedConfig): AgentCommand {
  if (r.workspace !== undefined) {
    throw new ConfigError("rollout.workspace: agents in a tab have no files.", {
      do: 'Leave it out, or train with "leyden train".',
    });
  }
  return {
    command: r.command,
    ...(r.env === undefined ? {} : { env: r.env }),
    ...(r.envMap === undefined ? {} : { envMap: r.envMap }),
    ...(r.stdin === undefined ? {} : { stdin: r.stdin }),
  };
}

/**
 * Opens a store of this tab and closes it. @throws as openTabStore; FormatError "store_file" for another program's database
 */
export async function checkTabStore(
  platform: Pick<Platform, "clock">,
  sqlite: TabSqlite,
  place: string,
): Promise<void> {
  const database = sqlite.open(place);
  try {
    const isStore = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'store_meta'").get() !== undefined;
    if (!isStore) {
      throw new FormatError("store_file", "The store.sqlite is a database, but holds no run's record.", {
        do: "Choose the store.sqlite of a run.",
      });
    }
  } finally {
    database.close();
  }
  const store = await openTabStore(platform, sqlite, place);
  await store.close();
}

/** Opens a store of this tab, which alone has its databases. @throws StoreError, EnvironmentError "sql_failed" */
export async function openTabStore(
  { clock }: Pick<Platform, "clock">,
  sqlite: TabSqlite,
  place: string,
): Promise<Store> {
  if (place === "memory") return new MemoryStore();
  await sqlite.reserve();
  const lease = { owner: "tab", isGone: () => true };
  return await openSqlStore({ driver: sqlite, clock, path: place, lease });
}
