// Runs, checkpoints and records that are damaged are refused before anybody is asked whether they may replace a run.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { strToU8, zipSync } from "fflate";
import { describe, expect, it } from "vitest";
import { checkTabStore } from "../../../src/app/tab/tab_run_host.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { nodeSqlite } from "../../../src/platform/node_sqlite.ts";
import { faultWords } from "../../../src/schema/run_control.ts";
import { StoreError } from "../../../src/schema/store_error.ts";
import { openSqlStore } from "../../../src/store/sql_store.ts";
import { runConfig } from "./run_configs.ts";
import { checkpointFiles, contents, file, record, stateText, withRun } from "./transfer_rig.ts";

const config = file("config.json", runConfig);
const unreadable = {
  code: "checkpoint_damaged",
  message: "The checkpoint /checkpoints/step_1 has no readable state.json.",
};

describe("a damaged run", () => {
  it.each([
    ["of a later format", checkpointFiles(1, stateText(1, { format: 2 })), unreadable],
    ["with a torn state", checkpointFiles(1, "{"), unreadable],
    ["with a state of one number", checkpointFiles(1, '{"update":1}'), unreadable],
    [
      "whose newest checkpoint is of another update",
      [...checkpointFiles(1), ...checkpointFiles(1e20, stateText(1))],
      { code: "checkpoint_damaged", message: /step_100000000000000000000 is of update 1\.$/ },
    ],
    [
      "whose newest checkpoint has no weights",
      [...checkpointFiles(1), file("checkpoints/step_2/state.json", stateText(2))],
      { code: "checkpoint_damaged", message: "The checkpoint /checkpoints/step_2 has no weights." },
    ],
    [
      "with a file for its checkpoints",
      [file("checkpoints", "a file")],
      { code: "run_folder", message: "The folder holds no run: its checkpoints are a file." },
    ],
  ])(
    "%s is refused at the first look and at the import; the kept one is as it was",
    async (_, files, { code, message }) => {
      const { transfer, files: kept, adopted } = await withRun();
      const before = await contents(kept);
      const refusal = { code, message: expect.stringMatching(message) };
      await expect(transfer.arrivingRun([config, ...files])).rejects.toMatchObject(refusal);
      await expect(transfer.importRun("calc", [config, ...files])).rejects.toMatchObject(refusal);
      expect([await contents(kept), adopted]).toEqual([before, []]);
    },
  );

  it("with a configuration that has an unknown key is refused with the key's name", async () => {
    const { transfer } = await withRun();
    const odd = file("config.json", JSON.stringify({ ...JSON.parse(runConfig), newSection: {} }));
    await expect(transfer.arrivingRun([odd])).rejects.toMatchObject({
      code: "run_folder",
      message: expect.stringContaining("unknown key newSection"),
    });
  });
});

describe("a damaged checkpoint", () => {
  const parts = {
    "experiment.json": JSON.stringify(record),
    "run_config.json": runConfig,
    "state.json": stateText(1),
    "model.safetensors": "weights",
  };
  const zip = (part: Readonly<Record<string, string>>): Uint8Array =>
    zipSync(Object.fromEntries(Object.entries({ ...parts, ...part }).map(([name, text]) => [name, strToU8(text)])));

  it.each([
    ["state of one number", { "state.json": '{"update":1}' }, "checkpoint_damaged"],
    ["torn configuration of the run", { "run_config.json": "{" }, "run_folder"],
  ])("with a %s is refused at the first look and at the import", async (_, part, code) => {
    const { transfer, files } = await withRun();
    const before = await contents(files);
    expect(await transfer.arrivingCheckpoint(zip({}))).toMatchObject({ update: 1, replaces: true });
    await expect(transfer.arrivingCheckpoint(zip(part))).rejects.toMatchObject({ code });
    await expect(transfer.importCheckpoint(zip(part))).rejects.toMatchObject({ code });
    expect(await contents(files)).toEqual(before);
  });
});

describe("a database that arrives", () => {
  it("is refused when it is another program's, and taken when it is a run's record", async () => {
    const folder = mkdtempSync(join(tmpdir(), "leyden-store-"));
    try {
      const sqlite = { ...nodeSqlite, reserve: async () => {} };
      const [other, own] = [join(folder, "other.sqlite"), join(folder, "own.sqlite")];
      const database = nodeSqlite.open(other);
      database.exec("CREATE TABLE a (b)");
      database.close();
      await expect(checkTabStore({ clock: systemClock }, sqlite, other)).rejects.toMatchObject({
        code: "store_file",
        message: "The store.sqlite is a database, but holds no run's record.",
        do: "Choose the store.sqlite of a run.",
      });
      const torn = join(folder, "torn.sqlite");
      writeFileSync(torn, "no database, ".repeat(1000));
      await expect(checkTabStore({ clock: systemClock }, sqlite, torn)).rejects.toMatchObject({ code: "sql_damaged" });
      const lease = { owner: "test", isGone: () => true };
      await (await openSqlStore({ driver: nodeSqlite, clock: systemClock, path: own, lease })).close();
      await checkTabStore({ clock: systemClock }, sqlite, own);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe("a fault in words", () => {
  it("says its advice once, also where that is in its message", () => {
    expect(faultWords({ message: "It is full.", do: "Delete something." })).toBe("It is full. Delete something.");
    expect(faultWords(new StoreError("store_version", "It is of version 9.", "Use another."))).toBe(
      "It is of version 9. Use another.",
    );
    expect(faultWords({ message: "It is full.", do: "" })).toBe("It is full.");
  });
});
