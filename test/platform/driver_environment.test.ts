import { describe, expect, it } from "vitest";
import { cacheFolderFor, driverVariables, type FolderFacts } from "../../src/platform/driver_environment.ts";

const facts = (platform: NodeJS.Platform, variables: FolderFacts["variables"] = {}): FolderFacts => ({
  platform,
  home: "/home/u",
  variables,
});

describe("cache folder", () => {
  it("is the user's own on each system", () => {
    expect(cacheFolderFor(facts("linux"))).toBe("/home/u/.cache/leyden");
    expect(cacheFolderFor(facts("linux", { XDG_CACHE_HOME: "/x" }))).toBe("/x/leyden");
    expect(cacheFolderFor(facts("darwin"))).toBe("/home/u/Library/Caches/leyden");
    expect(cacheFolderFor(facts("win32", { LOCALAPPDATA: "/local" }))).toBe("/local/leyden/cache");
  });

  it("is LEYDEN_CACHE before all", () => {
    for (const platform of ["linux", "darwin", "win32"] as const) {
      expect(cacheFolderFor(facts(platform, { LEYDEN_CACHE: "/c", XDG_CACHE_HOME: "/x" }))).toBe("/c");
    }
  });
});

describe("driver variables", () => {
  it("persist compiled shaders under the cache folder", () => {
    expect(driverVariables(facts("linux", { LEYDEN_CACHE: "/c" }))).toEqual({
      MESA_SHADER_CACHE_DIR: "/c/mesa",
      XDG_RUNTIME_DIR: "/c/runtime",
    });
  });

  it("leave the user's own alone", () => {
    expect(driverVariables(facts("linux", { MESA_SHADER_CACHE_DIR: "/m", XDG_RUNTIME_DIR: "/r" }))).toEqual({});
    expect(driverVariables(facts("linux", { XDG_RUNTIME_DIR: "/r" }))).toEqual({
      MESA_SHADER_CACHE_DIR: "/home/u/.cache/leyden/mesa",
    });
  });

  it("are a matter of Linux", () => {
    expect(driverVariables(facts("darwin"))).toEqual({});
    expect(driverVariables(facts("win32"))).toEqual({});
  });
});
