// A page as one file on a disk, with what one entry puts on globalThis, under the same policy as the real one.
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import * as esbuild from "esbuild";
import { PageBundler } from "../../../src/app/page_build/bundler.ts";
import { pagePolicy } from "../../../src/schema/page_policy.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** A page on the disk. */
export interface DiskPage {
  readonly url: string;
  remove(): Promise<void>;
}

/** Bundles an entry into a document that holds everything, the workers that it names included. */
export async function writePage(entry: string): Promise<DiskPage> {
  const { code } = await new PageBundler(esbuild, root, "single").bundle(join(root, entry));
  const script = code.replaceAll(/<(?=\/script|script|!--)/gi, "\\x3C");
  const policy = pagePolicy([`'sha256-${createHash("sha256").update(script).digest("base64")}'`]);
  const folder = await mkdtemp(join(tmpdir(), "leyden-disk-"));
  const path = join(folder, "page.html");
  await writeFile(
    path,
    `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}">
<title>page</title><script type="module">${script}</script>`,
  );
  return { url: pathToFileURL(path).href, remove: () => rm(folder, { recursive: true, force: true }) };
}
