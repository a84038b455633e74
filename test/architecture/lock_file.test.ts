import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

interface LockedPackage {
  resolved?: string;
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

/** Names that some package depends on and that the lock file has no entry for: "npm ci" refuses such a file. */
function missingPackages(packages: Record<string, LockedPackage>): string[] {
  const isThere = (from: string, name: string): boolean => {
    const path = `${from === "" ? "" : `${from}/`}node_modules/${name}`;
    if (path in packages) return true;
    if (from === "") return false;
    return isThere(from.replace(/(^|\/)node_modules\/(@[^/]+\/)?[^/]+$/, ""), name);
  };
  return Object.entries(packages).flatMap(([from, locked]) => {
    const all = { ...locked.dependencies, ...locked.optionalDependencies, ...locked.devDependencies };
    return Object.keys(all).flatMap((name) => (isThere(from, name) ? [] : [`${from || "package.json"}: ${name}`]));
  });
}

function readJson(name: string) {
  return JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), "utf8"));
}

describe.each(["", "test/harness/"])("%spackage-lock.json", (folder) => {
  const lock = readJson(`${folder}package-lock.json`);
  const packages: Record<string, LockedPackage> = lock.packages;

  it("has an entry for every dependency, the optional ones too", () => {
    expect(Object.keys(packages).length).toBeGreaterThan(50);
    expect(missingPackages(packages)).toEqual([]);
  });

  it("locks what package.json asks for", () => {
    const { dependencies, devDependencies, engines } = readJson(`${folder}package.json`);
    expect(packages[""]).toEqual(
      expect.objectContaining(JSON.parse(JSON.stringify({ dependencies, devDependencies, engines }))),
    );
  });

  it("names no place that packages were downloaded from", () => {
    expect(Object.entries(packages).filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
  });
});

describe("the check of the lock file", () => {
  it("finds a missing package, and accepts nested and hoisted ones", () => {
    const packages = {
      "": { dependencies: { a: "1" } },
      "node_modules/a": { dependencies: { "@s/b": "1", c: "1" }, optionalDependencies: { gone: "1" } },
      "node_modules/a/node_modules/@s/b": { dependencies: { c: "1" } },
      "node_modules/c": {},
    };
    expect(missingPackages(packages)).toEqual(["node_modules/a: gone"]);
  });
});
