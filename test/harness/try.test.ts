/** `leyden try` on an installed agent, as a person runs it: the tiny model it brings, and its last line. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { env, execPath } from "node:process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { harnessFolder } from "./rig.ts";

const main = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const path = `${join(harnessFolder, "node_modules/.bin")}:${env.PATH}`;

function leyden(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const child = execFile(execPath, [main, ...args], { env: { ...env, PATH: path } }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    );
  });
}

it("finds every agent of this folder", async () => {
  const { code, stdout } = await leyden("try", "--list", "--json");
  const listed = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { harness: string; installed: boolean });
  expect(listed.map(({ installed }) => installed)).toEqual(listed.map(() => true));
  expect(listed.length).toBeGreaterThan(5);
  expect(code).toBe(0);
});

it("tries pi", async () => {
  const { code, stdout, stderr } = await leyden("try", "pi", "--json");
  expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
  expect(JSON.parse(stdout.trim().split("\n").at(-1) ?? "")).toMatchObject({
    harness: "pi",
    exit: 0,
    calls: 3,
    lineages: 1,
    breaks: [],
    continuations: 2,
    failures: 0,
    trainable: true,
  });
});
