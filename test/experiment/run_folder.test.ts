// A checkpoint is there completely or not at all, also where the file system renames by copying and a reload cuts that off.
import { describe, expect, it } from "vitest";
import { freshRunState, RunFolder } from "../../src/experiment/run_folder.ts";
import { memoryFiles } from "../../src/platform/memory_files.ts";
import type { Files } from "../../src/schema/files.ts";

const state = (update: number) => ({ ...freshRunState, update, version: update, configSha256: "" });
/** Flushed in this order: the state last. */
const weights = {
  "model.safetensors": new Uint8Array(4),
  "critic/model.safetensors": new Uint8Array(3),
  "tokenizer.json": new Uint8Array(2),
};
const whole = ["critic/model.safetensors", "model.safetensors", "state.json", "tokenizer.json"];

/** Paths of a folder's files. */
async function paths(files: Files, folder: string, prefix = ""): Promise<string[]> {
  const found: string[] = [];
  for (const { name, kind } of await files.list(folder)) {
    if (kind === "file") found.push(`${prefix}${name}`);
    else found.push(...(await paths(files, files.join(folder, name), `${prefix}${name}/`)));
  }
  return found;
}

/** Files that are cut off while they rename a folder, after so many of its files were copied, or all and some removed. */
function cutOffAfter(files: Files, copied: number, removed: readonly string[] = []): Files {
  return {
    ...files,
    async rename(from, to) {
      for (const path of (await paths(files, from)).slice(0, copied)) {
        await files.write(files.join(to, path), await files.read(files.join(from, path)));
      }
      for (const path of removed) await files.remove(files.join(from, path));
      throw new Error("The page was closed.");
    },
  };
}

describe("a run's folder", () => {
  it.each([0, 1, 2, 3, 4])("has a whole checkpoint when its renaming was cut off after %i files", async (copied) => {
    const files = memoryFiles();
    const run = new RunFolder(files, "/run");
    await run.writeCheckpoint(state(1), weights);
    const cut = new RunFolder(cutOffAfter(files, copied), "/run");
    await expect(cut.writeCheckpoint(state(2), weights)).rejects.toThrow("closed");
    const found = await run.latestCheckpoint();
    expect(found?.state.update).toBe(copied === 0 ? 1 : 2);
    expect(await paths(files, found?.folder ?? "")).toEqual(whole);
    for (const update of [3, 4]) await run.writeCheckpoint(state(update), weights);
    await run.pruneCheckpoints(2);
    expect((await run.latestCheckpoint())?.folder).toBe("/run/checkpoints/step_4");
    const left = (await files.list("/run/checkpoints")).map(({ name }) => name);
    expect(left).toEqual(["step_3", "step_4"]);
  });

  it.each([
    [["critic/model.safetensors"]],
    [["model.safetensors"]],
    [["critic", "model.safetensors"]],
    [["state.json"]],
    [["tokenizer.json", "critic"]],
    [whole],
  ])("has a whole one when what it was copied from had lost %j as the page was closed", async (removed) => {
    const files = memoryFiles();
    const run = new RunFolder(files, "/run");
    await expect(
      new RunFolder(cutOffAfter(files, whole.length, removed), "/run").writeCheckpoint(state(2), weights),
    ).rejects.toThrow("closed");
    const found = await run.latestCheckpoint();
    expect(found?.folder).toBe("/run/checkpoints/step_2");
    expect(await paths(files, found?.folder ?? "")).toEqual(whole);
  });

  it("has a whole one when the checkpoint that it takes the place of was half removed", async () => {
    const files = memoryFiles();
    const run = new RunFolder(files, "/run");
    await run.writeCheckpoint(state(2), { ...weights, "of an older time": new Uint8Array(1) });
    const target = "/run/checkpoints/step_2";
    const cut: Files = {
      ...files,
      async remove(path) {
        if (path !== target) return files.remove(path);
        for (const name of ["model.safetensors", "state.json"]) await files.remove(files.join(path, name));
        throw new Error("The page was closed.");
      },
    };
    await expect(new RunFolder(cut, "/run").writeCheckpoint(state(2), weights)).rejects.toThrow("closed");
    const found = await run.latestCheckpoint();
    expect(await paths(files, found?.folder ?? "")).toEqual(whole);
  });

  it("keeps what a kept checkpoint is read from, and nothing of older ones", async () => {
    const files = memoryFiles();
    const run = new RunFolder(files, "/run");
    for (const copied of [0, 2]) {
      const cut = new RunFolder(cutOffAfter(files, copied), "/run");
      await expect(cut.writeCheckpoint(state(1 + copied), weights)).rejects.toThrow("closed");
    }
    await run.writeCheckpoint(state(4), weights);
    await files.write("/run/checkpoints/step_5.part/model.safetensors", new Uint8Array(1));
    await run.pruneCheckpoints(2);
    const left = (await files.list("/run/checkpoints")).map(({ name }) => name);
    expect(left).toEqual(["step_3", "step_3.part", "step_4", "step_5.part"]);
    await files.remove("/run/checkpoints/step_4");
    expect(await paths(files, (await run.latestCheckpoint())?.folder ?? "")).toEqual(whole);
  });

  it("takes no half-written checkpoint for a whole one", async () => {
    const files = memoryFiles();
    const run = new RunFolder(files, "/run");
    await run.writeCheckpoint(state(1), weights);
    await files.write("/run/checkpoints/step_1.part/model.safetensors", new Uint8Array(1));
    expect((await run.latestCheckpoint())?.folder).toBe("/run/checkpoints/step_1");
  });
});
