import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { PageBundler } from "./bundler.ts";

/** Folders whose subfolders are examples: an agent.ts, and a model folder where it brings one of its own. */
const exampleFolders = ["examples", "examples/lessons"];

async function examplesOf(root: string): Promise<{ name: string; folder: string }[]> {
  const found = await Promise.all(
    exampleFolders.map(async (parent) => {
      const folder = join(root, parent);
      const entries = existsSync(folder) ? await readdir(folder, { withFileTypes: true }) : [];
      return entries.filter((entry) => entry.isDirectory()).map(({ name }) => ({ name, folder: join(folder, name) }));
    }),
  );
  return found.flat().sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function modelFiles(name: string, folder: string): Promise<[path: string, bytes: Uint8Array][]> {
  if (!existsSync(join(folder, "model.safetensors"))) return [];
  const entries = await readdir(folder, { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
  return Promise.all(files.map(async (file) => [`models/${name}/${file}`, await readFile(join(folder, file))]));
}

/**
 * The agents and models that come with the page: those of every example whose agent needs no module of Node's, since a
 * tab runs the same file. Paths as page code knows them.
 * @throws PageBuildError when an agent cannot be bundled
 */
export async function exampleFiles(bundler: PageBundler, root: string): Promise<Map<string, Uint8Array>> {
  const out = new Map<string, Uint8Array>();
  for (const { name, folder } of await examplesOf(root)) {
    const agent = join(folder, "agent.ts");
    if (existsSync(agent)) {
      const { code, external } = await bundler.bundleAlone(agent, { format: "esm", inject: [], external: ["node:*"] });
      if (external.some((module) => module.startsWith("node:"))) continue;
      out.set(`agents/${name}.js`, new TextEncoder().encode(code));
    } else if (!folder.includes("lessons")) continue;
    for (const [path, bytes] of await modelFiles(name, join(folder, "model"))) out.set(path, bytes);
  }
  return out;
}
