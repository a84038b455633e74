import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
/** Folder of the data the tests share; it is not part of the repository. */
const sharedFolder = resolve(root, process.env.LEYDEN_SHARED ?? "../shared");

/** Absolute path of shared test data: `sharedPath("golden/rl")`. It may not exist; see `itShared`. */
export function sharedPath(path: string): string {
  return resolve(sharedFolder, path);
}

/** True when the shared data at `path` is there. */
export function hasShared(path: string): boolean {
  return existsSync(sharedPath(path));
}

/** What a test's context offers for leaving it. */
interface SkipContext {
  skip(reason: string): unknown;
}

/**
 * The absolute path of shared data; where it is absent the test is skipped with that reason.
 * @throws Error instead of skipping when LEYDEN_REQUIRE_SHARED=1
 */
export function requireShared(context: SkipContext, path: string): string {
  if (hasShared(path)) return sharedPath(path);
  const reason = `shared data absent: ${sharedPath(path)}`;
  if (process.env.LEYDEN_REQUIRE_SHARED === "1") throw new Error(`${reason} (LEYDEN_REQUIRE_SHARED=1)`);
  console.warn(`skipped: ${reason}`);
  context.skip(reason);
  return sharedPath(path);
}

/** A test that needs shared data at `path` and gets its absolute path. */
export function itShared(name: string, path: string, body: (absolute: string) => unknown, timeoutMs?: number): void {
  it(name, async (context) => void (await body(requireShared(context, path))), timeoutMs);
}
