import { createHash } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { PageBundler } from "../../../src/app/page_build/bundler.ts";
import { exampleFiles } from "../../../src/app/page_build/contents.ts";
import { pagePolicy } from "../../../src/schema/page_policy.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  wasm: "application/wasm",
  json: "application/json",
};

/** A site with a page that has what one entry puts on globalThis, under the same policy as the real one. */
export interface TabSite {
  readonly url: string;
  close(): Promise<void>;
}

/** Bundles the page and everything that comes with it, by the paths it is served under. */
async function siteFiles(entryPath: string): Promise<Map<string, Uint8Array>> {
  const bundler = new PageBundler(esbuild, root, "folder");
  const entry = await bundler.bundle(join(root, entryPath));
  const worker = await bundler.bundleAlone(join(root, "gateway/service_worker.ts"), { format: "iife", inject: [] });
  const examples = await exampleFiles(bundler, root);
  const files = new Map(examples);
  for (const [name, bytes] of bundler.outputs) files.set(`assets/${name}`, bytes);
  const text = (body: string) => new TextEncoder().encode(body);
  const facts = [...examples].map(([path, bytes]) => [
    path,
    { sizeBytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") },
  ]);
  files.set("files.json", text(JSON.stringify(Object.fromEntries(facts))));
  files.set("sw.js", text(worker.code));
  files.set(
    "index.html",
    text(`<!doctype html><meta charset="utf-8"><title>tab</title><link rel="icon" href="data:,">
<script type="module" src="assets/${entry.name}"></script>`),
  );
  return files;
}

/** Builds the site of an entry, `openTab` by default, and serves it on loopback. */
export async function serveTab(entry = "test/page/support/tab_entry.ts"): Promise<TabSite> {
  const files = await siteFiles(entry);
  const server: Server = createServer((request, response) => {
    const path = new URL(request.url ?? "/", "http://x").pathname.slice(1) || "index.html";
    const bytes = files.get(path);
    if (bytes === undefined) {
      response.writeHead(404).end();
      return;
    }
    const type = types[path.slice(path.lastIndexOf(".") + 1)] ?? "application/octet-stream";
    response.writeHead(200, { "content-type": type, "content-security-policy": pagePolicy() }).end(bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    close: () => new Promise((resolve) => void server.close(() => resolve())),
  };
}
