import { afterEach, describe, expect, it, vi } from "vitest";
import { requireShared } from "../shared.ts";

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  vi.resetModules();
});

/** The module as it is in a process whose LEYDEN_SHARED is `folder`. */
async function sharedWith(folder: string | undefined) {
  vi.stubEnv("LEYDEN_SHARED", folder);
  vi.resetModules();
  return import("../shared.ts");
}

function skipRecorder() {
  const reasons: string[] = [];
  const context = {
    skip(reason: string) {
      reasons.push(reason);
    },
  };
  return { reasons, context };
}

describe("shared test data", () => {
  it("is looked for beside the repository", async () => {
    const { sharedPath } = await sharedWith(undefined);
    expect(sharedPath("golden/rl")).toBe(new URL("../../../shared/golden/rl", import.meta.url).pathname);
  });

  it("is looked for where LEYDEN_SHARED says", async () => {
    const { sharedPath } = await sharedWith("/nowhere");
    expect(sharedPath("golden")).toBe("/nowhere/golden");
  });

  it("skips with the reason when absent", () => {
    vi.stubEnv("LEYDEN_REQUIRE_SHARED", undefined);
    const warned = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const { reasons, context } = skipRecorder();
    requireShared(context, "no such folder");
    expect(reasons).toEqual([expect.stringMatching(/^shared data absent: .*no such folder$/)]);
    expect(warned).toHaveBeenCalledOnce();
  });

  it("fails when absent and required", () => {
    vi.stubEnv("LEYDEN_REQUIRE_SHARED", "1");
    const { reasons, context } = skipRecorder();
    expect(() => requireShared(context, "no such folder")).toThrow("LEYDEN_REQUIRE_SHARED=1");
    expect(reasons).toEqual([]);
  });
});
