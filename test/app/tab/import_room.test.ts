// What a browser without room says to what is brought in: how much it takes, and what may be deleted for it.
import { describe, expect, it } from "vitest";
import { withinRoom } from "../../../src/app/tab/import_room.ts";
import { EnvironmentError } from "../../../src/core/errors.ts";
import { runConfig } from "./run_configs.ts";
import { contents, file, stateText, text, withRun } from "./transfer_rig.ts";

const full = new EnvironmentError("disk_full", "The browser's storage is full.");

describe("transfers into a tab without room", () => {
  it("say how much room the new one takes, and what takes most, when there is none; the kept one is as it was", async () => {
    const { transfer, files, databases, sqlite } = await withRun();
    const before = await contents(files);
    const refusal = {
      code: "import_room",
      message:
        "The browser has no room for what is brought in: it takes 3.0 MB beside what is kept, which is as it was.",
      do:
        "Delete in the section Model what is no longer needed, then bring it in again; " +
        "most room is in the run of calc (30.0 MB), the model mine (9.0 MB), the run of vault (20 kB).",
      cause: full,
    };
    const weights = { path: "checkpoints/step_1/model.safetensors", file: new Blob([new Uint8Array(1_000_000)]) };
    const state = file("checkpoints/step_1/state.json", stateText(1));
    const run = [file("config.json", runConfig), state, weights, file("store.sqlite", "x".repeat(500_000))];
    const { importFile } = sqlite;
    sqlite.importFile = () => Promise.reject(full);
    await expect(transfer.importRun("calc", run)).rejects.toMatchObject(refusal);
    sqlite.importFile = importFile;
    expect([await contents(files), text(databases.get("/runs/calc/store.sqlite"))]).toEqual([before, "database"]);
    files.write = () => Promise.reject(full);
    const model = [file("m/config.json", "{}"), file("m/tokenizer.json", "{}"), file("m/model.safetensors", "w")];
    await expect(transfer.importModel("other", model)).rejects.toMatchObject({
      code: "import_room",
      message: expect.stringContaining("it takes 1 kB beside"),
    });
  });

  it("name nothing to delete where nothing may be, or it is not known; other faults stay what they are", async () => {
    const refused = () => Promise.reject(full);
    const nothing = "Free some of the computer's disk, then bring it in again.";
    const none = { runs: [], models: [], isDurable: true };
    await expect(withinRoom(1, async () => none, refused)).rejects.toMatchObject({ code: "import_room", do: nothing });
    await expect(withinRoom(1, refused, refused)).rejects.toMatchObject({ code: "import_room", do: nothing });
    const other = new TypeError("another fault");
    await expect(
      withinRoom(
        1,
        async () => none,
        () => Promise.reject(other),
      ),
    ).rejects.toBe(other);
  });
});
