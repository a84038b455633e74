// A checkpoint is there completely or not at all, also where the file system renames by copying and a reload cuts that off.
import { describe, expect, it } from "vitest";
import { freshRunState, RunFolder } from "../../src/experiment/run_folder.ts";
import { memoryFiles } from "../../src/platform/memory_files.ts";
import type { Files } from "../../src/schema/files.ts";

const state = (update: number) => ({ ...freshRunState, update, version: update, configSha256: "" });
const weights = { "model.safetensors": new Uint8Array(4), "tokenizer.json": new Uint8Array(2) };

/** Files that are cut off while they rename a folder, after so many of its files were copied. */
function cutOffAfter(files: Files, copied: number): Files {
  return {
    ...files,
    async rename(from, to) {
      for (const { name } of (await files.list(from)).slice(0, copied)) {
        await files.write(files.join(to, name), await files.read(files.join(from, name)));
      }
      throw new Error("The page was closed.");
    },
  };
}

describe("a run's folder", () => {
  it.each([0, 1, 2, 3])("has a whole checkpoint when its renaming was cut off after %i files", async (copied) => {
    const files = memoryFiles();
    const run = new RunFolder(files, "/run");
    await run.writeCheckpoint(state(1), weights);
    const cut = new RunFolder(cutOffAfter(files, copied), "/run");
    await expect(cut.writeCheckpoint(state(2), weights)).rejects.toThrow("closed");
    const found = await run.latestCheckpoint();
    expect(found?.state.update).toBe(copied === 0 ? 1 : 2);
    const names = (await files.list(found?.folder ?? "")).map(({ name }) => name);
    expect(names).toEqual(["model.safetensors", "state.json", "tokenizer.json"]);
    for (const update of [3, 4]) await run.writeCheckpoint(state(update), weights);
    await run.pruneCheckpoints(2);
    expect((await run.latestCheckpoint())?.folder).toBe("/run/checkpoints/step_4");
    const left = (await files.list("/run/checkpoints")).map(({ name }) => name);
    expect(left).toEqual(copied === 0 ? ["step_2.part", "step_3", "step_4"] : ["step_3", "step_4"]);
  });

  it("takes no half-written checkpoint for a whole one", async () => {
    const files = memoryFiles();
    const run = new RunFolder(files, "/run");
    await run.writeCheckpoint(state(1), weights);
    await files.write("/run/checkpoints/step_1.part/model.safetensors", new Uint8Array(1));
    expect((await run.latestCheckpoint())?.folder).toBe("/run/checkpoints/step_1");
  });
});
