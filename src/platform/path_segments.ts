/** Segments of a path with "." and ".." resolved; the root is []. */
export function segmentsOf(path: string): string[] {
  const out: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") out.pop();
    else if (part !== "" && part !== ".") out.push(part);
  }
  return out;
}

/** Segments joined with "/", absolute when the first one is. */
export function joinSegments(...segments: readonly string[]): string {
  const path = segmentsOf(segments.join("/")).join("/");
  return segments[0]?.startsWith("/") ? `/${path}` : path;
}

/** The path from the root. */
export function absolutePath(path: string): string {
  return `/${segmentsOf(path).join("/")}`;
}
