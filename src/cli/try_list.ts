import { harnesses } from "../rollout/harnesses/registry.ts";
import type { HostPlatform } from "../schema/platform.ts";
import type { CommandContext } from "./command.ts";

/** Whether a program is there: it is if it can be started. */
export async function isInstalled({ processes }: HostPlatform, program: string): Promise<boolean> {
  try {
    const started = await processes.spawn(program, ["--version"]);
    started.kill("SIGKILL");
    await started.exit;
    return true;
  } catch {
    return false;
  }
}

/** Prints the agents that can be named, and which of them are installed here. */
export async function listHarnesses({ platform, json, print, printJson }: CommandContext): Promise<number> {
  const width = Math.max(...harnesses.map(({ name }) => name.length));
  for (const { name, package: from, program } of harnesses) {
    const installed = await isInstalled(platform, program);
    if (json) printJson({ harness: name, program, package: from, installed });
    else
      print(`${name.padEnd(width)}  ${installed ? `installed (${program})` : `not installed: npm install -g ${from}`}`);
  }
  return 0;
}
