import { asLeydenError, ConfigError } from "../core/errors.ts";
import { hashString } from "../core/rng.ts";
import type { AgentCommand } from "../schema/agent.ts";
import type { Files } from "../schema/files.ts";
import { pathFrom } from "./config_paths.ts";

/** Where an agent's files lie, and where products of them may. */
export interface BundleContext {
  files: Files;
  /** Folder that the command's relative paths start from. */
  folder: string;
  /** Folder for what may be made again. */
  cacheFolder: string;
  /** Tells the person one line. */
  say(line: string): void;
}

type Esbuild = typeof import("esbuild");

/** The bundler; null where it is not installed, as next to a published package. */
async function bundler(): Promise<Esbuild | null> {
  try {
    return await import("esbuild");
  } catch {
    return null;
  }
}

async function bundle(esbuild: Esbuild, entry: string, { files, folder, cacheFolder }: BundleContext): Promise<string> {
  const path = files.absolute(pathFrom(files, folder, entry));
  const built = await esbuild
    .build({
      entryPoints: [path],
      bundle: true,
      minify: true,
      platform: "node",
      format: "esm",
      target: "node20",
      write: false,
      logLevel: "silent",
    })
    .catch((thrown: unknown) => {
      const message = asLeydenError(thrown).message.split("\n").slice(0, 4).join(" ");
      throw new ConfigError(`The agent ${path} cannot be bundled: ${message}`, {
        do: "Correct the agent, or take it out of the scripts to bundle.",
        cause: thrown,
      });
    });
  const name = `${entry.replace(/\.\w+$/, "").replace(/\W+/g, "_")}_${hashString(path).toString(16)}.mjs`;
  const target = files.join(cacheFolder, "agents", name);
  await files.write(target, (built.outputFiles[0] as { contents: Uint8Array }).contents);
  return target;
}

/**
 * The agent's command with the given scripts replaced by bundles of them: one file instead of the many that an SDK
 * consists of, which more than halves the processor time of each start. Without a bundler the scripts stay, and Node
 * keeps its compiled form of them.
 * @throws ConfigError "config" when a script is not in the command, or cannot be bundled
 */
export async function bundleAgent(
  agent: AgentCommand,
  scripts: readonly string[],
  context: BundleContext,
): Promise<AgentCommand> {
  for (const script of scripts) {
    if (agent.command.includes(script)) continue;
    throw new ConfigError(`"${script}" is to be bundled and is not in rollout.command.`, {
      do: "Write both the same way.",
    });
  }
  if (scripts.length === 0) return agent;
  const esbuild = await bundler();
  if (esbuild === null) {
    context.say("esbuild is not installed: agents start from their sources, which takes longer.");
    const cache = context.files.join(context.cacheFolder, "node_compile_cache");
    return { ...agent, env: { NODE_COMPILE_CACHE: cache, ...agent.env } };
  }
  const targets = new Map<string, string>();
  for (const script of scripts) targets.set(script, await bundle(esbuild, script, context));
  return { ...agent, command: agent.command.map((part) => targets.get(part) ?? part) };
}
