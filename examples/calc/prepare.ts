/**
 * Readies the agent for some thousand starts: bundled into one file and, where Deno is installed, run by it. Node's
 * fetch alone costs more processor time at each start than Deno's whole start does (test/bench/LOG.md).
 */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { PrepareAgent } from "leyden";

/** All the agent needs: its settings and its model. */
const denoRun = ["run", "--allow-env", "--allow-net", "--no-config", "--no-lock", "--no-remote", "--no-npm"];

/** Deno's program: the running one, or the installed package's; null where there is none. */
function findDeno(): string | null {
  const running = (globalThis as { Deno?: { execPath(): string } }).Deno;
  if (running !== undefined) return running.execPath();
  try {
    const folder = dirname(createRequire(import.meta.url).resolve("deno/package.json"));
    const program = join(folder, process.platform === "win32" ? "deno.exe" : "deno");
    return existsSync(program) ? program : null;
  } catch {
    return null;
  }
}

export const prepare: PrepareAgent = async ({ agent, bundle, cacheFolder }) => {
  const bundled = await bundle(["agent.ts"]);
  const deno = findDeno();
  const [program, ...args] = bundled.command;
  const isBundle = !args.includes("agent.ts");
  if (deno === null || program !== "node" || !isBundle) return bundled;
  const env = { DENO_DIR: join(cacheFolder, "deno"), DENO_NO_UPDATE_CHECK: "1", ...agent.env };
  return { ...bundled, env, command: [deno, ...denoRun, ...args] };
};
