import type { PageAssets } from "../../schema/page_assets.ts";

type Embedded = Extract<PageAssets, { kind: "embedded" }>;

let opened: Promise<Embedded> | null = null;

/** True when the page is a single file, which holds everything and fetches nothing. */
export function isSingleFile(): boolean {
  return document.getElementById("embedded") !== null;
}

/** A file as it stands in the page, gzipped and in base64, unpacked. */
async function unpacked(base64: string): Promise<Blob> {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return await new Response(stream).blob();
}

async function unpackAll(): Promise<Embedded> {
  const text = document.getElementById("embedded")?.textContent ?? "{}";
  const packed = Object.entries(JSON.parse(text) as Record<string, string>);
  const files = await Promise.all(packed.map(async ([path, base64]) => [path, await unpacked(base64)] as const));
  return { kind: "embedded", files: Object.fromEntries(files) };
}

/** The files in a page that is a single file, by their paths. */
export function embeddedAssets(): Promise<Embedded> {
  opened ??= unpackAll();
  return opened;
}
