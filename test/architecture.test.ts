import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { layers } from "./architecture/layers.ts";
import {
  deviceViolations,
  layerViolations,
  lengthViolations,
  nameViolations,
  opViolations,
  portabilityViolations,
  purityViolations,
} from "./architecture/rules.ts";
import type { SourceFile } from "./architecture/source.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Paths of all files under a folder, from the repository's root; build products and installed packages left out. */
function pathsUnder(folder: string): string[] {
  return readdirSync(`${root}${folder}`, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`.slice(root.length))
    .filter((path) => !/(^|\/)(node_modules|dist|runs)\//.test(path))
    .sort();
}

function read(path: string): SourceFile {
  return { path, text: readFileSync(`${root}${path}`, "utf8") };
}

const isCode = (path: string) => /\.(tsx?|mjs)$/.test(path) && !/\.d\.mts$/.test(path);
const product = [...pathsUnder("src"), ...pathsUnder("gateway")].filter(
  (path) => isCode(path) && !/\.gen\.ts$/.test(path),
);
const examples = pathsUnder("examples").filter(isCode);
const shaders = pathsUnder("shaders");
const tests = pathsUnder("test").filter(isCode);

describe("architecture", () => {
  // A list that is empty by mistake would make every check below pass.
  it("sees the files", () => {
    const folders = new Set(product.map((path) => path.replace(/[^/]*$/, "")));
    for (const folder of ["src/core/", "src/schema/", "src/platform/", "src/gpu/", "src/ops/", "src/cli/"]) {
      expect(folders, folder).toContain(folder);
    }
    expect(shaders.some((path) => path.endsWith(".wgsl"))).toBe(true);
    expect(tests).toContain("test/architecture.test.ts");
  });

  it("has each layer once, and imports only of known layers", () => {
    const names = layers.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const { imports } of layers) if (imports !== "*") expect(names).toEqual(expect.arrayContaining([...imports]));
  });

  it("imports downwards only", () => {
    expect(layerViolations([...product, ...examples].map(read))).toEqual([]);
  });

  it("touches time, randomness and the runtime at its edges only", () => {
    expect(purityViolations(product.map(read))).toEqual([]);
  });

  it("runs device tests on every runtime", () => {
    expect([...portabilityViolations(tests.map(read)), ...deviceViolations(tests.map(read))]).toEqual([]);
  });

  it("has files short enough to hold one concept, named after it", () => {
    const files = [...product, ...examples, ...tests, ...shaders].map(read);
    expect([...lengthViolations(files), ...nameViolations(files)]).toEqual([]);
  });

  it("sets the state of parts of the page that are still there only", () => {
    const stateful = product.filter((path) => /\buseState\b/.test(read(path).text));
    expect(stateful).toEqual(["gateway/studio/client/live_state.ts"]);
  });

  it("has every op registered, with its shader and its test", () => {
    const under = (paths: string[], folder: string) => paths.filter((path) => path.startsWith(folder)).map(read);
    expect(opViolations(under(product, "src/ops/"), shaders, under(tests, "test/ops/"))).toEqual([]);
  });
});
