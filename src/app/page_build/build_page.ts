import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { type PageAssetFacts, pageAssetListPath } from "../../schema/page_assets.ts";
import { pagePolicy } from "../../schema/page_policy.ts";
import { pageSettingPath, plainPageSetting } from "../../schema/page_setting.ts";
import { PageBundler } from "./bundler.ts";
import { exampleFiles } from "./contents.ts";
import { licencesOf } from "./licences.ts";

type Esbuild = typeof import("esbuild");

/** The page as files, by their paths, and what of them is loaded first. */
export interface BuiltPage {
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** Paths that loading the page takes before anything is chosen: the document, its style and scripts. */
  readonly initial: readonly string[];
}

const pageSource = "src/app/page";

/** Puts values into the places that index.html has for them, which stand in it as comments. */
function filled(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/<!-- (\w+) -->/g, (place, name: string) => values[name] ?? place);
}

function policyTag(scripts: readonly string[] = []): string {
  return `<meta http-equiv="Content-Security-Policy" content="${pagePolicy(scripts)}" />`;
}

function encoded(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function listOf(files: ReadonlyMap<string, Uint8Array>): string {
  const facts = [...files].map(([path, bytes]): [string, PageAssetFacts] => [
    path,
    { sizeBytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") },
  ]);
  return JSON.stringify(Object.fromEntries(facts));
}

/** Builds the page as a folder of files for any static host. @throws PageBuildError */
export async function buildPageFolder(esbuild: Esbuild, root: string): Promise<BuiltPage> {
  const bundler = new PageBundler(esbuild, root, "folder");
  const script = await bundler.bundle(join(root, pageSource, "boot.tsx"));
  const style = await bundler.bundle(join(root, pageSource, "page.css"));
  const template = await readFile(join(root, pageSource, "index.html"), "utf8");
  const modules = script.initial.filter((name) => name !== script.name);
  const html = filled(template, {
    policy: policyTag(),
    style: `<link rel="stylesheet" href="assets/${style.name}" />`,
    embedded: modules.map((name) => `<link rel="modulepreload" href="assets/${name}" />`).join(""),
    script: `<script type="module" src="assets/${script.name}"></script>`,
  });
  const examples = await exampleFiles(bundler, root);
  const files = new Map<string, Uint8Array>([["index.html", encoded(html)]]);
  for (const [name, bytes] of bundler.outputs) files.set(`assets/${name}`, bytes);
  const worker = join(root, "gateway/service_worker.ts");
  if (existsSync(worker)) {
    files.set("sw.js", encoded((await bundler.bundleAlone(worker, { format: "iife", inject: [] })).code));
  }
  for (const [path, bytes] of examples) files.set(path, bytes);
  for (const [path, bytes] of await reportFiles(esbuild, root)) files.set(path, bytes);
  files.set(pageAssetListPath, encoded(listOf(examples)));
  files.set(pageSettingPath, encoded(JSON.stringify(plainPageSetting)));
  files.set("licences.txt", encoded(await licencesOf(bundler.inputs, root)));
  const initial = ["index.html", ...[...script.initial, style.name].map((name) => `assets/${name}`)];
  return { files, initial };
}

/** What a report of a run is made of: the studio's code and style, each as one text. */
async function reportFiles(esbuild: Esbuild, root: string): Promise<Map<string, Uint8Array>> {
  const bundler = new PageBundler(esbuild, root, "single");
  const script = await bundler.bundleAlone(join(root, "gateway/studio/client/report.ts"), { format: "iife" });
  const style = await bundler.bundle(join(root, pageSource, "report.css"));
  return new Map([
    ["report.js", encoded(script.code)],
    ["report.css", encoded(style.code)],
  ]);
}

/** Text that may stand in a script element as it is: nothing in it ends the element or begins a comment. */
function scriptText(code: string): string {
  return code.replaceAll(/<(?=\/script|script|!--)/gi, "\\x3C");
}

/** Builds the page as one document that works from a disk. @throws PageBuildError */
export async function buildSingleFile(esbuild: Esbuild, root: string): Promise<Uint8Array> {
  const bundler = new PageBundler(esbuild, root, "single");
  const script = scriptText((await bundler.bundle(join(root, pageSource, "boot.tsx"))).code);
  const style = await bundler.bundle(join(root, pageSource, "page.css"));
  const examples = await exampleFiles(bundler, root);
  const carried = [...examples, ...(await reportFiles(esbuild, root))];
  const packed = carried.map(([path, bytes]) => [path, gzipSync(bytes, { level: 9 }).toString("base64")]);
  const digest = createHash("sha256").update(script).digest("base64");
  const template = await readFile(join(root, pageSource, "index.html"), "utf8");
  const html = filled(template, {
    policy: policyTag([`'sha256-${digest}'`]),
    style: `<style>${style.code}</style>`,
    embedded: `<script type="application/json" id="embedded">${JSON.stringify(Object.fromEntries(packed))}</script>`,
    script: `<script type="module">${script}</script>`,
  });
  return encoded(html);
}
