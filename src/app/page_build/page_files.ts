import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { relative } from "node:path";
import type { PageFile, PageFiles } from "../../schema/page_files.ts";
import { type PageSetting, pageSettingPath } from "../../schema/page_setting.ts";
import type { HostPlatform } from "../../schema/platform.ts";
import { builtPageFolder } from "./page_folder.ts";

/** Media types by the ends of names; whatever else is bytes. */
const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  json: "application/json; charset=utf-8",
  txt: "text/plain; charset=utf-8",
  wasm: "application/wasm",
};

function typeOf(path: string): string {
  return types[/\.(\w+)$/.exec(path)?.[1] ?? ""] ?? "application/octet-stream";
}

/** Paths of the files in a folder and those below it, relative to it, with "/". */
async function pathsIn(folder: string): Promise<Set<string>> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile());
  return new Set(files.map(({ parentPath, name }) => relative(folder, `${parentPath}/${name}`).replaceAll("\\", "/")));
}

interface OpenedFolder {
  readonly folder: string;
  readonly paths: ReadonlySet<string>;
}

/**
 * The page for a gateway to serve, told what its server has for it. Nothing is built or read before the first file is
 * asked for; only files that the folder had then are given out, whatever a path says.
 */
export function pageFiles(platform: HostPlatform, setting: PageSetting): PageFiles {
  let opened: Promise<OpenedFolder> | null = null;
  const known = new Map<string, Promise<PageFile>>();
  const open = async (): Promise<OpenedFolder> => {
    const folder = await builtPageFolder(platform);
    return { folder, paths: await pathsIn(folder) };
  };
  const read = async (folder: string, path: string): Promise<PageFile> => {
    const isSetting = path === pageSettingPath;
    const told = new TextEncoder().encode(JSON.stringify(setting));
    const bytes = isSetting ? told : await platform.files.read(platform.files.join(folder, path));
    const etag = `"${createHash("sha256").update(bytes).digest("hex").slice(0, 32)}"`;
    return { bytes, type: typeOf(path), etag };
  };
  return {
    async get(path) {
      opened ??= open();
      const { folder, paths } = await opened.catch((thrown: unknown) => {
        // Sources may be corrected: the next request builds again.
        opened = null;
        throw thrown;
      });
      if (!paths.has(path)) return null;
      let file = known.get(path);
      if (file === undefined) {
        file = read(folder, path);
        known.set(path, file);
        file.catch(() => known.delete(path));
      }
      return file;
    },
  };
}
