import type { AgentCommand } from "../schema/agent.ts";
import type { HostPlatform } from "../schema/platform.ts";
import { pathFrom } from "./config_paths.ts";
import { listen } from "./listen.ts";
import { importModule } from "./load_config.ts";
import { openStore } from "./open_store.ts";
import { openTelemetry } from "./open_telemetry.ts";
import { prepareAgent } from "./prepare_agent.ts";
import { holdRun } from "./run_hold.ts";
import type { PlacedConfig, RunHost } from "./run_host.ts";

/** Runs on Node and Deno: agents are processes, the gateway listens on a port. */
export function nodeRunHost(platform: HostPlatform): RunHost {
  return {
    platform,
    processes: platform.processes,
    launcher: ({ rollout: { nice } }) =>
      nice > 0 && platform.system.os !== "win32" ? ["nice", "-n", String(nice)] : [],
    agent: (placed) => preparedAgent(platform, placed),
    importModule: (folder, path) => importModule(platform.files, pathFrom(platform.files, folder, path)),
    openStore: (place) => openStore(platform, place),
    holdRun: (folder) => holdRun(platform, folder),
    listen: (app, options) => listen(platform, app, options),
    openTelemetry: (store, endpoint, say) => openTelemetry(platform, store, endpoint, say),
  };
}

/** The configured command line, its paths made absolute, after its prepare module. */
function preparedAgent(platform: HostPlatform, { config, configFolder, say }: PlacedConfig): Promise<AgentCommand> {
  const { files, cacheFolder } = platform;
  const r = config.rollout;
  const at = (path: string): string => files.absolute(pathFrom(files, configFolder, path));
  const agent: AgentCommand = {
    command: r.command,
    cwd: at(r.cwd ?? "."),
    inheritEnv: r.inheritEnv,
    ...(r.env === undefined ? {} : { env: r.env }),
    ...(r.envMap === undefined ? {} : { envMap: r.envMap }),
    ...(r.stdin === undefined ? {} : { stdin: r.stdin }),
    ...(r.workspace === undefined ? {} : { workspace: at(r.workspace) }),
  };
  const module = r.prepare === "" ? "" : at(r.prepare);
  return prepareAgent(agent, module, { files, folder: configFolder, cacheFolder, say });
}
