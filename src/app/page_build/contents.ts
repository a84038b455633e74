import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { scriptProgram } from "../../platform/worker_process/script_program.ts";
import { tabExperiments } from "../tab/experiments.ts";
import { noAddress, PageBuildError, type PageBundler } from "./bundler.ts";

/** Folders whose subfolders are examples: an agent.ts, and a model folder. */
const exampleFolders = ["examples", "examples/lessons"];

function folderOf(root: string, name: string): string {
  const found = exampleFolders.map((parent) => join(root, parent, name)).find((folder) => existsSync(folder));
  if (found !== undefined) return found;
  throw new PageBuildError(`An experiment of the tab names the example "${name}", which there is not.`);
}

/**
 * An agent as one file for a worker: a module, or in a single file a script, since from a disk browsers import no module
 * from a blob. @throws PageBuildError when it needs a module of Node's, which a tab has not, or exports something
 */
async function agentFile(bundler: PageBundler, root: string, name: string): Promise<Uint8Array> {
  const agent = join(folderOf(root, name), "agent.ts");
  const isScript = bundler.form === "single";
  const { code, external, exported } = await bundler.bundleAlone(agent, {
    ...{ format: "esm", inject: [], external: ["node:*"] },
    ...(isScript && { define: { "import.meta.url": noAddress } }),
  });
  const needed = external.filter((module) => module.startsWith("node:"));
  if (needed.length > 0) throw new PageBuildError(`${agent} needs ${needed.join(", ")} and cannot run in a tab.`);
  if (!isScript) return new TextEncoder().encode(code);
  if (exported.length > 0)
    throw new PageBuildError(`${agent} exports ${exported.join(", ")}; a program exports nothing.`);
  return new TextEncoder().encode(scriptProgram(code));
}

/** A model folder's files by their paths in the page. */
async function modelFiles(root: string, name: string): Promise<[path: string, bytes: Uint8Array][]> {
  const folder = join(folderOf(root, name), "model");
  const entries = await readdir(folder, { withFileTypes: true });
  // How a model was trained is of no use to those who run it.
  const files = entries.filter((entry) => entry.isFile() && entry.name !== "sft.json").map((entry) => entry.name);
  return Promise.all(files.map(async (file) => [`models/${name}/${file}`, await readFile(join(folder, file))]));
}

/**
 * The agents and models of the tab's experiments, by the paths that page code knows them by: the same files that run
 * elsewhere.
 * @throws PageBuildError when an agent cannot be bundled
 */
export async function exampleFiles(bundler: PageBundler, root: string): Promise<Map<string, Uint8Array>> {
  const out = new Map<string, Uint8Array>();
  for (const path of new Set(tabExperiments.flatMap(({ scripts }) => Object.values(scripts)))) {
    out.set(path, await agentFile(bundler, root, path.replace(/^agents\/|\.js$/g, "")));
  }
  for (const name of new Set(tabExperiments.map(({ model }) => model))) {
    for (const [path, bytes] of await modelFiles(root, name)) out.set(path, bytes);
  }
  return out;
}
