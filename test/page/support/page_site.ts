import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { buildPageFolder } from "../../../src/app/page_build/build_page.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  wasm: "application/wasm",
  json: "application/json",
};

/** The built page on a static host of its own. */
export interface PageSite {
  readonly url: string;
  /** Paths that it was asked for, in turn. */
  readonly asked: readonly string[];
  close(): Promise<void>;
}

/** Builds the page and serves it on loopback, as any static host would. */
export async function servePage(): Promise<PageSite> {
  const { files } = await buildPageFolder(esbuild, root);
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? "/", "http://x").pathname.slice(1) || "index.html";
    asked.push(path);
    const bytes = files.get(path);
    if (bytes === undefined) {
      response.writeHead(404).end();
      return;
    }
    const type = types[path.slice(path.lastIndexOf(".") + 1)] ?? "application/octet-stream";
    response.writeHead(200, { "content-type": type }).end(bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    asked,
    close: () => new Promise((resolve) => void server.close(() => resolve())),
  };
}
