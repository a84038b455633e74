/**
 * What `npm pack` puts into the package. In the clone everything runs from its sources; Node strips no types under
 * node_modules, so the package holds JavaScript with declarations in dist/, laid out as the sources are, and a
 * package.json that points there. npm packs the package.json it finds, so that file is exchanged while npm packs
 * (`prepack`) and put back afterwards (`postpack`, with --restore).
 */
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { argv, execPath } from "node:process";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const dist = join(root, "dist");
const manifestPath = join(root, "package.json");
/** The clone's package.json while the package's own stands in its place. */
const clonePath = join(root, "package.clone.json");

interface Manifest {
  readonly scripts: Readonly<Record<string, string>>;
  readonly imports: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

/** Fields that mean something in the clone only. */
const cloneFields = ["private", "devDependencies", "allowScripts", "overrides"];

/** The value with every path of a source in it replaced by that of its product. */
function productPaths(value: unknown): unknown {
  if (typeof value === "string") return value.replace(/^(\.\/)?(.+)\.ts$/, "$1dist/$2.js");
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, productPaths(inner)]));
}

function packageManifest(clone: Manifest): object {
  const { prepack, postpack } = clone.scripts;
  const kept = Object.entries(clone).filter(([name]) => !cloneFields.includes(name));
  return {
    ...Object.fromEntries(kept),
    bin: productPaths(clone.bin),
    exports: productPaths(clone.exports),
    imports: { "#platform": productPaths(clone.imports["#platform"]) },
    files: ["dist"],
    // Of no use in the package; after an interrupted pack the next one starts with them.
    scripts: { prepack, postpack },
  };
}

/**
 * Sources name each other in strings too: `new URL("./engine_worker.ts", import.meta.url)`, "./tasks.ts" in a
 * configuration, and every import of a declaration. A quoted path whose product lies beside the file becomes that.
 */
function nameProducts(path: string): void {
  const text = readFileSync(path, "utf8");
  const named = text.replaceAll(/"([\w./-]+)\.ts"/g, (quoted, stem: string) =>
    existsSync(resolve(dirname(path), `${stem}.js`)) ? `"${stem}.js"` : quoted,
  );
  if (named !== text) writeFileSync(path, named);
}

function compile(): void {
  const compiler = fileURLToPath(import.meta.resolve("typescript/package.json"));
  const { bin } = JSON.parse(readFileSync(compiler, "utf8")) as { bin: { tsc: string } };
  const script = join(dirname(compiler), bin.tsc);
  execFileSync(execPath, [script, "-p", join(root, "tsconfig.package.json")], { cwd: root, stdio: "inherit" });
}

/** Folders that only the page is made of, which lies in the package as it is served; as in tsconfig.package.json. */
const pageSources = ["src/app/page", "gateway/studio/client"];

/** Builds the page that trains in a tab: the bundler that makes it is no dependency of the package. */
function buildPage(): void {
  const page = join(dist, "page");
  execFileSync(execPath, [join(root, "src/cli/main.ts"), "page", page], { cwd: root, stdio: "inherit" });
}

/** Copies what is no TypeScript: the model and texts of examples, plain JavaScript. */
function copyAssets(folder: string): void {
  const isAsset = (path: string): boolean => !/\.tsx?$/.test(path) && !pageSources.some((name) => path.endsWith(name));
  cpSync(join(root, folder), join(dist, folder), { recursive: true, filter: isAsset });
}

/** Agents that commands of the package run: the demo's, and the lessons'. */
const agents = ["examples/calc/agent", "examples/lessons/clerk/agent"];

/** An agent as one file: its SDK is no dependency of the package. */
function bundleAgent(agent: string): void {
  buildSync({
    entryPoints: [join(root, `${agent}.ts`)],
    outfile: join(dist, `${agent}.js`),
    bundle: true,
    minify: true,
    platform: "node",
    format: "esm",
    target: "node20",
    allowOverwrite: true,
    logLevel: "warning",
  });
}

function build(): void {
  rmSync(dist, { recursive: true, force: true });
  compile();
  for (const folder of ["src", "gateway", "examples"]) copyAssets(folder);
  for (const agent of agents) bundleAgent(agent);
  buildPage();
  for (const entry of readdirSync(dist, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.parentPath.startsWith(join(dist, "page"))) continue;
    if (/[\\/]examples[\\/].*\.d\.ts$/.test(path)) rmSync(path);
    else if (/\.(js|d\.ts)$|[\\/]config\.json$/.test(path)) nameProducts(path);
  }
}

function restore(): void {
  if (existsSync(clonePath)) renameSync(clonePath, manifestPath);
}

// A pack that was interrupted has left the package's manifest behind.
restore();
if (!argv.includes("--restore")) {
  build();
  const clone = JSON.parse(readFileSync(manifestPath, "utf8")) as Manifest;
  copyFileSync(manifestPath, clonePath);
  writeFileSync(manifestPath, `${JSON.stringify(packageManifest(clone), null, 2)}\n`);
}
