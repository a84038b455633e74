import { pathToFileURL } from "node:url";
import { asLeydenError, ConfigError } from "../core/errors.ts";
import { type AgentCommand, agentCommandSchema, type PrepareAgent } from "../schema/agent.ts";
import { type BundleContext, bundleAgent } from "./agent_bundle.ts";

async function loadPrepare(path: string): Promise<PrepareAgent> {
  let module: { prepare?: unknown };
  try {
    module = (await import(pathToFileURL(path).href)) as { prepare?: unknown };
  } catch (cause) {
    throw new ConfigError(`rollout.prepare: ${path} could not be loaded: ${asLeydenError(cause).message}`, {
      do: "Correct the module or its path.",
      cause,
    });
  }
  if (typeof module.prepare === "function") return module.prepare as PrepareAgent;
  throw new ConfigError(`rollout.prepare: ${path} exports no function "prepare".`, { do: "Export one." });
}

/**
 * The agent that a configuration's prepare module makes of it; `modulePath` is absolute, or "" for none.
 * @throws ConfigError "config" when the module cannot be loaded, throws, or returns no agent
 */
export async function prepareAgent(
  agent: AgentCommand,
  modulePath: string,
  context: BundleContext,
): Promise<AgentCommand> {
  if (modulePath === "") return agent;
  const prepare = await loadPrepare(modulePath);
  const { folder, cacheFolder, say } = context;
  const bundle = (scripts: readonly string[]) => bundleAgent(agent, scripts, context);
  let prepared: unknown;
  try {
    prepared = await prepare({ agent, folder, cacheFolder, say, bundle });
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    throw new ConfigError(`rollout.prepare: ${modulePath} threw: ${asLeydenError(cause).message}`, { cause });
  }
  const parsed = agentCommandSchema.safeParse(prepared);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new ConfigError(
    `rollout.prepare: ${modulePath} returned no agent: ${issue?.path.join(".")} ${issue?.message}`,
    {
      do: "Return { command: [...] } as the context's agent has it.",
    },
  );
}
