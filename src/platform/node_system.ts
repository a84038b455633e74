import type { SystemFacts } from "../schema/platform.ts";

const known = ["linux", "darwin", "win32"] as const;

/** Facts of the system, in Node and in Deno; `runtimeVersion` is given because each names its own. */
export function systemFacts(runtimeVersion: string): SystemFacts {
  return {
    os: known.find((name) => name === process.platform) ?? "other",
    arch: process.arch,
    isRoot: process.getuid?.() === 0,
    runtimeVersion,
    nodeVersion: process.versions.node,
  };
}
