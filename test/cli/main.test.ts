// The program itself, as a process: what no fake can show.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

function leyden(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["src/cli/main.ts", ...args], {
    cwd: root,
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

describe("leyden", () => {
  it("prints its help", () => {
    const { status, stdout, stderr } = leyden("--help");
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(/^leyden COMMAND \[options\]\n/);
  });

  it("prints the version of its package", () => {
    const { version } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
    expect(leyden("--version")).toEqual({ status: 0, stdout: `${version}\n`, stderr: "" });
  });

  it("refuses bad input with code 4, as text and as one line of JSON", () => {
    const text = leyden("doctor", "--fxi");
    expect(text).toMatchObject({ status: 4, stdout: "" });
    expect(text.stderr).toBe('error [usage]: leyden doctor has no option --fxi.\nDid you mean "--fix"?\n');
    const json = leyden("doctro", "--json");
    expect(json).toMatchObject({ status: 4, stderr: "" });
    expect(json.stdout).toBe(
      '{"error":{"code":"usage","message":"There is no command \\"doctro\\".","do":"Did you mean \\"doctor\\"?"}}\n',
    );
  });

  it("stops quietly when its reader has gone", () => {
    const { status, stderr } = spawnSync("sh", ["-c", `"${process.execPath}" src/cli/main.ts --help | true`], {
      cwd: root,
      encoding: "utf8",
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });
});
