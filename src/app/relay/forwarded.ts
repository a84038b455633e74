import type { HeaderList } from "../../schema/relay.ts";

/** Headers that concern one connection, or show a key that is the relay's own: neither goes through. */
const dropped = new Set([
  "authorization",
  "connection",
  "content-length",
  "cookie",
  "host",
  "keep-alive",
  "origin",
  "proxy-authorization",
  "te",
  "transfer-encoding",
  "upgrade",
  "x-api-key",
  "x-goog-api-key",
]);

/** Headers to send on, names in lower case. */
export function forwardedHeaders(headers: Headers): HeaderList {
  return [...headers]
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name]) => !dropped.has(name));
}

/** The path and query without the key that Gemini's clients may put there. */
export function forwardedPath(url: URL): string {
  const query = new URLSearchParams(url.search);
  query.delete("key");
  const text = query.toString();
  return url.pathname + (text === "" ? "" : `?${text}`);
}

/** The keys that a request shows. */
export function shownKeys(request: Request): string[] {
  const { headers } = request;
  const bearer = /^Bearer (.+)$/.exec(headers.get("authorization") ?? "")?.[1];
  const query = new URL(request.url).searchParams.get("key");
  return [bearer, headers.get("x-api-key"), headers.get("x-goog-api-key"), query].filter(
    (key) => typeof key === "string",
  );
}

/** A request's body; null for one that is longer than `mostBytes`, of which no more than that is held. */
export async function bodyOf(request: Request, mostBytes: number): Promise<Uint8Array | null> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of request.body ?? []) {
    length += part.length;
    if (length > mostBytes) return null;
    parts.push(part);
  }
  const body = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    body.set(part, at);
    at += part.length;
  }
  return body;
}
