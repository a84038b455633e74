/** What `deno publish` would upload: its exports are typed without inference, reach only what is uploaded, and warn of nothing. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const deno = fileURLToPath(new URL("../../node_modules/.bin/deno", import.meta.url));

it("is published without a word of warning, types checked", () => {
  const { status, stdout, stderr } = spawnSync(deno, ["publish", "--dry-run", "--allow-dirty"], {
    cwd: root,
    env: { ...process.env, NO_COLOR: "1" },
    encoding: "utf8",
  });
  const said = `${stdout}${stderr}`;
  expect(said).not.toMatch(/^(warning|error)/m);
  expect(said).toContain("Checking for slow types in the public API");
  const files = [...said.matchAll(/^\s+(file:\S+)/gm)].map(([, url]) =>
    fileURLToPath(url as string).slice(root.length),
  );
  expect(files).toEqual(expect.arrayContaining(["src/index.ts", "gateway/index.ts", "README.md", "LICENSE"]));
  // Commands, the page and what trains are of no use without the clone.
  expect(files.filter((path) => /^(examples|test|src\/(app|bench|cli|gpu|ops))\/|\.(tsx|css)$/.test(path))).toEqual([]);
  expect(status).toBe(0);
}, 120_000);
