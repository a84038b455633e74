/**
 * The built page as files: what is loaded first stays small, nothing in it needs a browser of one maker, and it makes no
 * code at run time.
 */
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";
import { beforeAll, describe, expect, it } from "vitest";
import { type BuiltPage, buildPageFolder, buildSingleFile } from "../../src/app/page_build/build_page.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** Bytes of the document, its style and its first scripts, compressed as servers compress them. */
const initialBudgetBytes = 300_000;

/**
 * What only Chromium has (or had, in 2026): by the name that it is reached by. Whoever uses one asks first whether it is
 * there, and is named here with the question.
 */
const chromiumOnly: readonly string[] = [
  "showDirectoryPicker",
  "showOpenFilePicker",
  "showSaveFilePicker",
  "webkitRequestFileSystem",
  "FileSystemObserver",
  "getAsFileSystemHandle",
  "requestIdleCallback",
  "scheduler.yield",
  "userAgentData",
  "deviceMemory",
  "measureUserAgentSpecificMemory",
  "performance.memory",
  "navigator.connection",
  "getInstalledRelatedApps",
  "EyeDropper",
  "WebSocketStream",
  "launchQueue",
  "navigator.serial",
  "navigator.usb",
  "navigator.hid",
  "navigator.bluetooth",
  "storageBuckets",
  "SharedStorage",
  "chrome.runtime",
];

let page: BuiltPage;
const texts = new Map<string, string>();

beforeAll(async () => {
  page = await buildPageFolder(esbuild, root);
  const decoder = new TextDecoder();
  for (const [path, bytes] of page.files) if (/\.(js|html|css)$/.test(path)) texts.set(path, decoder.decode(bytes));
}, 120_000);

describe("the built page", () => {
  it(`begins with less than ${initialBudgetBytes / 1000} kB`, () => {
    const sizes = page.initial.map(
      (path) => [path, gzipSync(page.files.get(path) ?? "", { level: 9 }).length] as const,
    );
    const total = sizes.reduce((sum, [, bytes]) => sum + bytes, 0);
    console.log(`initial page: ${total} bytes compressed in ${sizes.length} files`);
    expect(sizes.length).toBeGreaterThan(2);
    expect(total).toBeLessThan(initialBudgetBytes);
    // The engine, the studio and the lessons come when they are asked for.
    const scripts = page.initial.filter((path) => path.endsWith(".js")).map((path) => texts.get(path) ?? "");
    expect(scripts.some((text) => /@compute|uplot/.test(text))).toBe(false);
    expect([...texts.values()].some((text) => text.includes("@compute"))).toBe(true);
  });

  it.each(chromiumOnly)("does without %s", (name) => {
    expect([...texts].filter(([, text]) => text.includes(name)).map(([path]) => path)).toEqual([]);
  });

  it("makes no code at run time, where its policy would forbid it", () => {
    const evaluating = /[^.\w](?:eval|Function)\(\s*["'`a-z]|new Function\(/;
    const found = [...texts].filter(([path, text]) => path.startsWith("assets/") && evaluating.test(text));
    // zod and the grammar library have such code in branches that are switched off.
    expect(found.map(([path]) => path.replace(/-\w+\.js$/, ""))).toEqual([]);
  });

  it("names every file by what is in it, so that a new page never meets an old script", () => {
    const assets = [...page.files.keys()].filter((path) => path.startsWith("assets/"));
    expect(assets.length).toBeGreaterThan(10);
    for (const path of assets) expect(path).toMatch(/-\w{8}\.(js|css|wasm)$/);
    const listed = JSON.parse(new TextDecoder().decode(page.files.get("files.json"))) as Record<string, unknown>;
    for (const path of Object.keys(listed)) expect(page.files.has(path), path).toBe(true);
    expect(Object.keys(listed)).toContain("models/calc/model.safetensors");
    expect(Object.keys(listed)).toContain("agents/calc.js");
  });

  it("brings the licences of the packages in it", () => {
    const licences = new TextDecoder().decode(page.files.get("licences.txt"));
    for (const name of ["hono", "zod", "uplot", "openai", "@huggingface/tokenizers", "@sqlite.org/sqlite-wasm"]) {
      expect(licences).toContain(`${name} `);
    }
  });
});

describe("the page in one file", () => {
  it("names no other file, and ends no script early", async () => {
    const html = new TextDecoder().decode(await buildSingleFile(esbuild, root));
    const head = html.slice(0, html.indexOf("</head>"));
    expect(head).not.toMatch(/<link[^>]+href="(?!data:)/);
    expect(html).not.toMatch(/<script[^>]+src=/);
    expect(html.match(/<script[\s>]/g)).toHaveLength(2);
    expect(html.match(/<\/script>/g)).toHaveLength(2);
    expect(head).toMatch(/script-src 'self' blob: 'wasm-unsafe-eval' 'sha256-[\w+/=]+'/);
  });
});
