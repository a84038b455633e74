import { decodeUrlPart } from "../../../src/core/url_part.ts";
import type { PageFiles } from "../../../src/schema/page_files.ts";
import { pagePolicy } from "../../../src/schema/page_policy.ts";
import { DetailError } from "../../http/errors.ts";
import type { Routes } from "../../http/routes.ts";
import type { Studio } from "../studio.ts";

const root = "/studio/";

/** Sent with every file: nothing from elsewhere is loaded, and no other page may hold this one. */
const guards = {
  "content-security-policy": `${pagePolicy()}; frame-ancestors 'none'`,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
};

/** Path of a file below the page's folder; null for one that leads out of it or cannot be read. */
function pagePath(pathname: string): string | null {
  const path = decodeUrlPart(pathname.slice(root.length));
  if (path === null) return null;
  if (path.includes("\0") || path.includes("\\") || path.split("/").some((part) => part === "..")) return null;
  return path === "" ? "index.html" : path;
}

async function sent(page: PageFiles, request: Request): Promise<Response> {
  const path = pagePath(new URL(request.url).pathname);
  const file = path === null || path.startsWith("api/") ? null : await page.get(path);
  if (file === null) throw new DetailError(404, "Not Found");
  // Names in assets/ hold a hash of what they name.
  const cache = path?.startsWith("assets/") ? "public, max-age=31536000, immutable" : "no-cache";
  const headers = { ...guards, etag: file.etag, "cache-control": cache };
  if (request.headers.get("if-none-match") === file.etag) return new Response(null, { status: 304, headers });
  return new Response(file.bytes as Uint8Array<ArrayBuffer>, { headers: { ...headers, "content-type": file.type } });
}

/** The page itself. It holds no data and takes no key: its requests do. */
export function addPageRoute(routes: Routes, { gateway }: Studio): void {
  const { page } = gateway.deps;
  if (page === undefined) return;
  routes.add("GET", "/studio", "The page", () => new Response(null, { status: 302, headers: { location: root } }));
  routes.add("GET", "/studio/*", "The page's files", (c) => sent(page, c.req.raw));
}
