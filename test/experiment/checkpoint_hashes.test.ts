// Every file of a checkpoint is known by its bytes: a byte that is another, an end that is missing or too much, a file that
// is gone, in its folder or below it, is named with what to remove; what came to the folder since is nobody's concern; a
// checkpoint of before there were hashes is taken as it is.
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { checkHashes, hashesOf } from "../../src/experiment/checkpoint_hashes.ts";
import { freshRunState, RunFolder } from "../../src/experiment/run_folder.ts";
import { memoryFiles } from "../../src/platform/memory_files.ts";
import type { Files } from "../../src/schema/files.ts";

const weights = {
  "model.safetensors": Uint8Array.of(1, 2, 3),
  "critic/model.safetensors": Uint8Array.of(4, 5),
  empty: new Uint8Array(),
};
const step = "/run/checkpoints/step_2";

async function saved(): Promise<{ files: Files; run: RunFolder }> {
  const files = memoryFiles();
  const run = new RunFolder(files, "/run");
  await run.writeCheckpoint({ ...freshRunState, update: 2, configSha256: "" }, weights);
  return { files, run };
}

async function check(run: RunFolder): Promise<void> {
  const checkpoint = await run.latestCheckpoint();
  if (checkpoint !== null) await run.checkFiles(checkpoint);
}

describe("a checkpoint's files", () => {
  it("are as they were saved", async () => {
    const { files, run } = await saved();
    await expect(check(run)).resolves.toBeUndefined();
    await files.write(`${step}/notes.txt`, "of mine");
    await expect(check(run)).resolves.toBeUndefined();
  });

  const critic = `${step}/critic/model.safetensors`;
  const other = "has other bytes than those that were saved";
  it.each<[string, (files: Files) => Promise<void>, string]>([
    ["another byte", (files) => files.write(critic, Uint8Array.of(4, 6)), other],
    ["no end", (files) => files.write(critic, Uint8Array.of(4)), other],
    ["more of an end", (files) => files.write(critic, Uint8Array.of(4, 5, 0)), other],
    ["nothing in it", (files) => files.write(critic, new Uint8Array()), other],
    ["gone", (files) => files.remove(critic), "is missing"],
  ])("are refused when one is damaged: %s", async (_, spoil, what) => {
    const { files, run } = await saved();
    await spoil(files);
    await expect(check(run)).rejects.toMatchObject({
      code: "checkpoint_damaged",
      message: `The checkpoint's ${critic} ${what}.`,
      do: `Remove ${step}; the run then resumes from the checkpoint before it.`,
    });
  });

  it("are taken as they are where the state has no hashes, and not where it has what are none", async () => {
    const { files, run } = await saved();
    const state = JSON.parse(await files.readText(`${step}/state.json`));
    const write = (of: unknown) => files.write(`${step}/state.json`, JSON.stringify({ ...state, files: of }));
    await write(undefined);
    await files.remove(critic);
    await expect(check(run)).resolves.toBeUndefined();
    for (const none of [[], "x", { a: "b" }, { a: [1] }]) {
      await write(none);
      await expect(check(run)).rejects.toMatchObject({ code: "checkpoint_damaged" });
    }
  });

  it("are hashed in pieces of 64 MiB", async () => {
    const bytes = new Uint8Array(2 ** 26 + 1);
    bytes[2 ** 26] = 7;
    const of = (from: number, to: number) => createHash("sha256").update(bytes.subarray(from, to)).digest("hex");
    const hashes = await hashesOf({ big: bytes, exact: bytes.subarray(0, 2 ** 26), empty: new Uint8Array() });
    const first = of(0, 2 ** 26);
    expect(hashes).toEqual({ big: [first, of(2 ** 26, 2 ** 26 + 1)], exact: [first], empty: [of(0, 0)] });
    const files = memoryFiles();
    await files.write("/c/big", bytes);
    const { big = [] } = hashes;
    await expect(checkHashes(files, "/c", { big })).resolves.toBeUndefined();
    await expect(checkHashes(files, "/c", { big: big.slice(1) })).rejects.toThrow(
      "The checkpoint's /c/big has 67108865 bytes, which is not what was saved.",
    );
    await expect(checkHashes(files, "/c", { big: [first, first] })).rejects.toThrow("has other bytes");
  });
});
