/** What the page may load and run, whoever serves it: its own files, and workers it makes itself; nothing from outside. */
const directives = {
  "default-src": ["'none'"],
  "script-src": ["'self'", "blob:", "'wasm-unsafe-eval'"],
  "worker-src": ["'self'", "blob:"],
  // uPlot and hono/jsx set styles of elements.
  "style-src": ["'self'", "'unsafe-inline'"],
  "img-src": ["'self'", "data:", "blob:"],
  "connect-src": ["'self'", "data:", "blob:"],
  "base-uri": ["'none'"],
  "form-action": ["'none'"],
};

/** The page's content security policy; `scripts` are further sources, such as the digests of what stands in the page. */
export function pagePolicy(scripts: readonly string[] = []): string {
  return Object.entries(directives)
    .map(([name, sources]) => [name, ...sources, ...(name === "script-src" ? scripts : [])].join(" "))
    .join("; ");
}
