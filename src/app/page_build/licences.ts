import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** Folders of the packages that inputs of a bundle lie in, relative to the root. */
function packageFolders(inputs: Iterable<string>): string[] {
  const found = new Set<string>();
  for (const input of inputs) {
    const folder = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0];
    if (folder !== undefined) found.add(folder);
  }
  return [...found].sort();
}

/** The licences of the packages that went into bundles: their authors ask that they come along. */
export async function licencesOf(inputs: Iterable<string>, root: string): Promise<string> {
  const parts: string[] = [];
  for (const folder of packageFolders(inputs)) {
    const path = join(root, folder);
    if (!existsSync(join(path, "package.json"))) continue;
    const { name, version, license } = JSON.parse(await readFile(join(path, "package.json"), "utf8")) as {
      name: string;
      version: string;
      license?: string;
    };
    const file = (await readdir(path)).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file === undefined ? "" : `\n\n${(await readFile(join(path, file), "utf8")).trim()}`;
    parts.push(`${name} ${version}: ${license ?? "see its authors"}${text}`);
  }
  return `Packages in this page, with their licences.\n\n${parts.join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
}
