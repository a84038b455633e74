import { describe, expect, it } from "vitest";
import {
  cacheFolderFor,
  driverFolders,
  driverSettings,
  type FolderFacts,
} from "../../src/platform/driver_environment.ts";

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

describe("driver settings", () => {
  const wide = (variables: FolderFacts["variables"] = {}): FolderFacts => ({
    ...facts("linux", variables),
    wideVectors: true,
  });

  it("have llvmpipe use the long vectors that there are", () => {
    expect(driverSettings(wide())).toEqual({ LP_NATIVE_VECTOR_WIDTH: "512" });
    expect(driverSettings(facts("linux"))).toEqual({});
  });

  it("leave a width that is set alone", () => {
    expect(driverSettings(wide({ LP_NATIVE_VECTOR_WIDTH: "256" }))).toEqual({});
  });

  it("are a matter of Linux", () => {
    expect(driverSettings({ ...wide(), platform: "darwin" })).toEqual({});
  });
});

describe("driver folders", () => {
  it("persist compiled shaders under the cache folder", () => {
    expect(driverFolders(facts("linux", { LEYDEN_CACHE: "/c" }))).toEqual({
      MESA_SHADER_CACHE_DIR: "/c/mesa",
      XDG_RUNTIME_DIR: "/c/runtime",
    });
  });

  it("leave the user's own alone", () => {
    expect(driverFolders(facts("linux", { MESA_SHADER_CACHE_DIR: "/m", XDG_RUNTIME_DIR: "/r" }))).toEqual({});
    expect(driverFolders(facts("linux", { XDG_RUNTIME_DIR: "/r" }))).toEqual({
      MESA_SHADER_CACHE_DIR: "/home/u/.cache/leyden/mesa",
    });
  });

  it("are a matter of Linux", () => {
    expect(driverFolders(facts("darwin"))).toEqual({});
    expect(driverFolders(facts("win32"))).toEqual({});
  });
});
