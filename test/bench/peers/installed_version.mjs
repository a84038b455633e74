import { readFileSync } from "node:fs";

/** Version of a package in this folder's node_modules, of its package.json. */
export function installedVersion(name) {
  const file = new URL(`./node_modules/${name}/package.json`, import.meta.url);
  return JSON.parse(readFileSync(file, "utf8")).version;
}
