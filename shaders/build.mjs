// Quotes every shaders/*.wgsl, includes resolved, into src/gpu/wgsl.gen.ts. With --check: fails when that file is stale.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const folder = new URL("./", import.meta.url);
const target = new URL("../src/gpu/wgsl.gen.ts", import.meta.url);

/** Text of a shader with each `//!include "name.wgsl"` line replaced by that file, once. */
function resolve(name, seen = new Set()) {
  seen.add(name);
  const text = readFileSync(new URL(name, folder), "utf8");
  return text.replace(/^\/\/!include "([a-z0-9_]+\.wgsl)"\r?$/gm, (_, other) =>
    seen.has(other) ? "" : resolve(other, seen),
  );
}

const names = readdirSync(folder)
  .filter((f) => f.endsWith(".wgsl"))
  .sort();
const lines = names.map((n) => `  ${n.replace(/\.wgsl$/, "")}: ${JSON.stringify(resolve(n))},`);
const text = `// Generated from shaders/*.wgsl by shaders/build.mjs. Edit those and run: npm run shaders
export const wgsl: { readonly [name in WgslName]: string } = {
${lines.join("\n")}
};

/** Stems of the shader files. */
export type WgslName = ${names.map((n) => JSON.stringify(n.replace(/\.wgsl$/, ""))).join(" | ")};
`;

if (process.argv.includes("--check")) {
  let current = "";
  try {
    current = readFileSync(target, "utf8");
  } catch {
    // Not generated yet: reported below as stale.
  }
  if (current !== text) {
    console.error("src/gpu/wgsl.gen.ts is stale. Run: npm run shaders");
    process.exit(1);
  }
} else {
  writeFileSync(target, text);
}
