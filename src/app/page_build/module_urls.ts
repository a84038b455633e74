import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Loader, Plugin } from "esbuild";

/** `new URL("./x.ts", import.meta.url)`: how code names a worker; packages name their WebAssembly the same way. */
const namedUrl = /\bnew URL\(\s*(["'])(\.{0,2}\/?[\w./-]+\.(?:ts|wasm))\1\s*,\s*import\.meta\.url\s*\)/g;

/** What stands in a bundle where a file was named. */
export interface NamedModule {
  /** An expression of type URL. */
  readonly expression: string;
  /** Import declarations it needs, on one line; or empty. */
  readonly imports: string;
}

/** Bundles a named worker, or copies a named file. */
export type ResolveNamed = (path: string) => Promise<NamedModule>;

async function replaced(path: string, resolveNamed: ResolveNamed): Promise<string | null> {
  const text = await readFile(path, "utf8");
  const found = [...text.matchAll(namedUrl)];
  if (found.length === 0) return null;
  let out = "";
  let imports = "";
  let from = 0;
  for (const match of found) {
    const named = await resolveNamed(resolve(dirname(path), match[2] as string));
    out += text.slice(from, match.index) + named.expression;
    imports += named.imports;
    from = match.index + match[0].length;
  }
  return imports + out + text.slice(from);
}

/** Puts the addresses of bundled workers and copied files where sources name them. */
export function moduleUrls(resolveNamed: ResolveNamed): Plugin {
  return {
    name: "module-urls",
    setup(build) {
      build.onLoad({ filter: /\.(ts|tsx|mjs|js)$/, namespace: "file" }, async ({ path }) => {
        // Of packages, only those that bring WebAssembly files name any.
        if (/[\\/]node_modules[\\/]/.test(path) && !/[\\/]@sqlite\.org[\\/]/.test(path)) return null;
        const contents = await replaced(path, resolveNamed);
        const loader = (path.endsWith("x") ? "tsx" : path.endsWith(".ts") ? "ts" : "js") satisfies Loader;
        return contents === null ? null : { contents, loader };
      });
    },
  };
}
