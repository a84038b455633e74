/** Folders and places a command cannot use are refused before anything is opened, with what to do. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodeFiles } from "../../src/platform/node_files.ts";
import { runLeyden } from "./run_leyden.ts";

const calc = fileURLToPath(new URL("../../examples/calc", import.meta.url));

let root = "";
let file = "";
let full = "";
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "leyden-places-"));
  file = join(root, "file");
  full = join(root, "full");
  writeFileSync(file, "text");
  mkdirSync(full);
  writeFileSync(join(full, "own.txt"), "text");
});
afterAll(() => rmSync(root, { recursive: true }));

async function refused(...args: string[]): Promise<{ code: number; err: string }> {
  const { code, err } = await runLeyden(args);
  return { code, err };
}

describe("leyden train", () => {
  it("goes on with no run that is not named", async () => {
    expect(await refused("train", calc, "--resume")).toEqual({
      code: 4,
      err: "error [usage]: --resume needs --out.\nPass --out DIR with the folder of the run to continue.\n",
    });
  });

  it("goes on with no run that is not there, and starts none", async () => {
    for (const place of [join(root, "absent"), full, file]) {
      expect(await refused("train", calc, "--out", place, "--resume")).toEqual({
        code: 4,
        err:
          `error [run_missing]: There is no run in ${place}.\n` +
          "Correct --out, or leave out --resume to start a run there.\n",
      });
    }
    expect(existsSync(join(root, "absent"))).toBe(false);
  });

  it("says that --out is a file", async () => {
    const { code, err } = await refused("train", calc, "--out", file);
    expect(code).toBe(4);
    expect(err).toContain(
      `error [file_exists]: Could not make ${file}: a file is in a folder's place.\nName another folder.\n`,
    );
  });
});

describe("a folder to write to", () => {
  const model = ["--model", join(calc, "model")];

  it("is not one with other files, whatever writes", async () => {
    const holds = `error [folder_not_empty]: ${full} holds 1 entry already.\n`;
    expect(await refused("page", full)).toEqual({ code: 4, err: `${holds}Name a new folder.\n` });
    expect(await refused("export", full, ...model)).toEqual({
      code: 4,
      err: `${holds}Name a new folder, or pass --force to replace the model in it.\n`,
    });
  });

  it("is not a file, whatever writes", async () => {
    const isFile = { code: 4, err: `error [file_exists]: ${file} is a file.\nName a new folder.\n` };
    expect(await refused("page", file)).toEqual(isFile);
    expect(await refused("export", file, ...model)).toEqual(isFile);
  });

  it("does not lie below a file", async () => {
    const below = join(file, "run", "config.json");
    const fault = {
      code: "file_exists",
      message: `Could not write ${below}: a file is in a folder's place.`,
      do: "Name another folder.",
    };
    await expect(nodeFiles.write(below, "")).rejects.toMatchObject(fault);
    await expect(nodeFiles.makeFolder(join(file, "run"))).rejects.toMatchObject({ code: "file_exists" });
    await expect(nodeFiles.readText(below)).rejects.toMatchObject({ code: "file_missing" });
  });
});

describe("leyden serve", () => {
  const absent = ["serve", "--model", "/nowhere"];

  it("says that a room needs a network before it opens a model", async () => {
    expect(await refused(...absent, "--room")).toEqual({
      code: 4,
      err: "error [usage]: --room is for the people of a network.\nPass --lan as well.\n",
    });
    expect(await refused(...absent, "--lan", "--host", "::1")).toEqual({
      code: 4,
      err: "error [usage]: --lan listens on every address, and --host names one.\nLeave one of them out.\n",
    });
  });
});
