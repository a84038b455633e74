import { z } from "zod";
import { captureOutput } from "../cli/capture_output.ts";
import { EnvironmentError, FormatError } from "../core/errors.ts";
import type { HostPlatform } from "../schema/platform.ts";

const installTimeoutMs = 600_000;

const manifest: z.ZodType<{ version?: string; dependencies?: Record<string, string> }> = z.object({
  version: z.string().optional(),
  dependencies: z.record(z.string(), z.string()).optional(),
});

/**
 * Installs what the package.json of a folder wants by its lock file, unless all of it is there.
 * @throws EnvironmentError "peers_install" with what npm said
 */
export async function installPeers(
  platform: Pick<HostPlatform, "files" | "processes" | "clock">,
  folder: string,
  note: (line: string) => void,
): Promise<void> {
  if (await isInstalled(platform, folder)) return;
  note("Installing the peers (some 600 MB, once) ...");
  const { exit, timedOut, stderr } = await captureOutput(platform, "npm", ["ci", "--prefix", folder], installTimeoutMs);
  if (exit.code === 0) return;
  const why = timedOut ? "it took too long" : stderr.trim().split("\n")[0] || `exit code ${exit.code}`;
  throw new EnvironmentError("peers_install", `npm could not install the peers: ${why}.`, {
    do: `Run "npm ci" in ${folder}.`,
  });
}

async function isInstalled({ files }: Pick<HostPlatform, "files">, folder: string): Promise<boolean> {
  const read = async (path: string) => manifest.parse(JSON.parse(await files.readText(files.join(folder, path))));
  const { dependencies = {} } = await read("package.json");
  try {
    for (const [name, version] of Object.entries(dependencies)) {
      const installed = await read(files.join("node_modules", name, "package.json"));
      if (installed.version !== version) return false;
    }
    return true;
  } catch (thrown) {
    if (thrown instanceof FormatError && thrown.code === "file_missing") return false;
    throw thrown;
  }
}
