/** What `npm pack` makes, as a project meets it that installed it: nothing of the clone but its dependencies is near. */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const work = mkdtempSync(join(tmpdir(), "leyden-package-"));
/** A copy of the clone, because packing exchanges its package.json for a moment. */
const clone = join(work, "clone");
const project = join(work, "project");
const installed = join(project, "node_modules/leyden");
const packed = ["src", "gateway", "examples", "package.json", "tsconfig.json", "tsconfig.package.json", "LICENSE"];

/** The environment without what an npm around this test set for its own folder. */
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)));

function readJson(path: string) {
  return JSON.parse(readFileSync(path, "utf8"));
}

function link(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path, "junction");
}

/** Runs the installed program in the project. */
function leyden(...args: string[]) {
  const program = join(installed, readJson(join(installed, "package.json")).bin.leyden);
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    cwd: project,
    env: environment,
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

beforeAll(() => {
  for (const path of packed) cpSync(join(root, path), join(clone, path), { recursive: true });
  link(join(root, "node_modules"), join(clone, "node_modules"));
  const options = { cwd: clone, env: environment, stdio: "pipe" } as const;
  // An interrupted pack leaves the package's own package.json behind; the next one must begin with the clone's.
  execFileSync(process.execPath, ["src/build_package.ts"], options);
  expect(readJson(join(clone, "package.json")).bin.leyden).toBe("dist/src/cli/main.js");
  execFileSync("npm", ["pack"], options);
  const { version, dependencies } = readJson(join(root, "package.json"));
  mkdirSync(installed, { recursive: true });
  execFileSync("tar", ["-xzf", join(clone, `leyden-${version}.tgz`), "--strip-components=1", "-C", installed]);
  for (const name of Object.keys(dependencies)) {
    link(join(root, "node_modules", name), join(project, "node_modules", name));
  }
}, 120_000);

afterAll(() => rmSync(work, { recursive: true, force: true }), 60_000);

describe("the package", () => {
  it("leaves the clone as it was", () => {
    expect(readJson(join(clone, "package.json"))).toEqual(readJson(join(root, "package.json")));
    expect(existsSync(join(clone, "package.clone.json"))).toBe(false);
  });

  it("names only files that are there, and holds no TypeScript but declarations", () => {
    const { bin, exports, imports } = readJson(join(installed, "package.json"));
    const files = [bin, exports, imports["#platform"]].flatMap((paths) => Object.values<string>(paths));
    expect(files.length).toBe(6);
    for (const path of files) expect(existsSync(join(installed, path)), path).toBe(true);
    const found = execFileSync("find", [installed, "-name", "*.ts", "-not", "-name", "*.d.ts"], { encoding: "utf8" });
    expect(found).toBe("");
  });

  it("has the page ready, and writes it without a bundler", () => {
    const { status, stdout } = leyden("page", "site", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ folder: join(project, "site"), single_bytes: expect.any(Number) });
    expect(status).toBe(0);
    const listed = Object.keys(readJson(join(project, "site/files.json")));
    expect(listed).toContain("models/calc/model.safetensors");
    for (const path of [...listed, "index.html", "leyden.html", "sw.js", "report.js"]) {
      expect(existsSync(join(project, "site", path)), path).toBe(true);
    }
    expect(existsSync(join(project, "site/initial.json"))).toBe(false);
  });

  it("finds the adapter", () => {
    const { status, stdout } = leyden("doctor", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, adapter: { name: expect.any(String) } });
    expect(status).toBe(0);
    expect(leyden("--version").stdout).toBe(`${readJson(join(root, "package.json")).version}\n`);
  });

  it("continues a prompt as the clone does", () => {
    const model = join(installed, "dist/examples/calc/model");
    const args = ["generate", "--model", model, "--prompt", "Ann has", "--tokens", "8", "--greedy"];
    const own = spawnSync(process.execPath, [join(root, "src/cli/main.ts"), ...args], { encoding: "utf8" });
    const { status, stdout } = leyden(...args);
    expect(stdout).toBe(own.stdout);
    expect(stdout.startsWith("Ann has")).toBe(true);
    expect(status).toBe(0);
  });

  it("trains the example it brings, whose agent needs no other package", () => {
    const small = ["--updates", "1", "--set", "train.tasksPerUpdate=2", "--set", "train.groupSize=4"];
    const { status, stdout, stderr } = leyden("train", join(installed, "dist/examples/calc"), "--out", "run", ...small);
    expect(stderr).not.toContain("error");
    expect(stdout).toContain("\nTrained to update 1 in ");
    expect(status).toBe(0);
    const metrics = readJson(join(project, "run/metrics.jsonl"));
    expect(metrics).toMatchObject({ "training/n_rollouts": 8, "training/n_rollouts_failed": 0 });
  });

  it("types what a project writes with it", () => {
    writeFileSync(
      join(project, "uses.ts"),
      [
        'import { type Dataset, defineExperiment, type ExperimentInput } from "leyden";',
        'import { createApp, type GatewayDeps, MemoryStore } from "leyden/gateway";',
        'const rest = { task: { dataset: "./tasks.ts" }, rollout: { command: ["agent"] } };',
        'export const good: ExperimentInput = defineExperiment({ model: { path: "m" }, ...rest });',
        "// @ts-expect-error a path is a text",
        "defineExperiment({ model: { path: 1 }, ...rest });",
        'const row = { id: "t", input: { n: 1 }, hidden: {} };',
        "export const dataset: Dataset = { train: () => ({ length: 1, at: () => row }), heldOut: [row] };",
        "export const serve = (deps: GatewayDeps) => [createApp({ ...deps, store: new MemoryStore() })];",
      ].join("\n"),
    );
    const compilerOptions = { module: "nodenext", target: "esnext", strict: true, noEmit: true, types: [] };
    writeFileSync(join(project, "package.json"), '{"type":"module"}');
    writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["uses.ts"] }));
    const compiler = join(root, "node_modules/typescript");
    const script = join(compiler, readJson(join(compiler, "package.json")).bin.tsc);
    const { stdout } = spawnSync(process.execPath, [script, "-p", project], { encoding: "utf8" });
    expect(stdout).toBe("");
  });
});
