import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { EnvironmentError } from "../../core/errors.ts";
import type { HostPlatform } from "../../schema/platform.ts";
import { singleFileName } from "./names.ts";

/** Root of the sources; in a package, of what was made of them, where the page lies ready in a folder of its own. */
const root: string = fileURLToPath(new URL("../../..", import.meta.url));
const packagedPage = join(root, "page");

/** Built pages of earlier sources that are kept: programs that started with them may still serve them. */
const keptBuilds = 3;

/** Everything that a page is made of, relative to the root. */
const sourceFolders = ["src", "gateway", "examples", "package-lock.json"];

/** SHA-256 of every source by its path, the first 16 digits. */
async function sourcesHash(): Promise<string> {
  const hash = createHash("sha256");
  const add = async (path: string): Promise<void> => {
    hash.update(`${path}\n`).update(await readFile(join(root, path)));
  };
  for (const source of sourceFolders) {
    if (!existsSync(join(root, source))) continue;
    if (source.includes(".")) {
      await add(source);
      continue;
    }
    const entries = await readdir(join(root, source), { withFileTypes: true, recursive: true });
    const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
    for (const file of files.sort()) await add(file.slice(root.length));
  }
  return hash.digest("hex").slice(0, 16);
}

type Esbuild = typeof import("esbuild");

async function bundler(): Promise<Esbuild> {
  try {
    return await import("esbuild");
  } catch (cause) {
    throw new EnvironmentError("no_bundler", "The page is not built, and esbuild, which builds it, is not installed.", {
      do: "Run npm ci in a clone of the repository, or install the package, which has the page ready.",
      cause,
    });
  }
}

async function dropOldBuilds({ files }: HostPlatform, folder: string): Promise<void> {
  const builds = await readdir(folder, { withFileTypes: true });
  const dated = await Promise.all(
    builds.map(async ({ name }) => {
      const marker = files.join(folder, name, "built.txt");
      return { name, at: (await files.exists(marker)) ? Number(await files.readText(marker)) : 0 };
    }),
  );
  const old = dated.sort((a, b) => b.at - a.at).slice(keptBuilds);
  for (const { name } of old) await files.remove(files.join(folder, name));
}

async function build({ files, clock }: HostPlatform, target: string): Promise<void> {
  const esbuild = await bundler();
  // A package has neither the sources nor what they are built with.
  const { buildPageFolder, buildSingleFile } = await import("./build_page.ts");
  const page = await buildPageFolder(esbuild, root);
  const single = await buildSingleFile(esbuild, root);
  const temporary = `${target}.${process.pid}.part`;
  await files.remove(temporary);
  for (const [path, bytes] of page.files) await files.write(files.join(temporary, path), bytes);
  await files.write(files.join(temporary, singleFileName), single);
  await files.write(files.join(temporary, "initial.json"), JSON.stringify(page.initial));
  await files.write(files.join(temporary, "built.txt"), String(clock.now()));
  // Another program may have built the same in the meantime.
  if (await files.exists(target)) await files.remove(temporary);
  else await files.rename(temporary, target);
}

/**
 * Folder of the built page: index.html and what it loads, and leyden.html. A package has it ready; a clone builds it
 * when its sources have changed, and keeps it in the cache folder.
 * @throws PageBuildError; EnvironmentError "no_bundler"
 */
export async function builtPageFolder(platform: HostPlatform): Promise<string> {
  if (existsSync(join(packagedPage, "index.html"))) return packagedPage;
  const { files, cacheFolder } = platform;
  const builds = files.join(cacheFolder, "page");
  const target = files.join(builds, await sourcesHash());
  if (!(await files.exists(target))) {
    await build(platform, target);
    await dropOldBuilds(platform, builds);
  }
  return target;
}
