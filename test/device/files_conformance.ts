// The contract of Files, for whatever implements it.
import { afterAll, beforeAll, describe, expect, it } from "#test";
import type { Files } from "../../src/schema/files.ts";

const bytes = (...values: number[]) => Uint8Array.from(values);

/** Tests of one implementation. */
export function filesConformance(name: string, files: Files): void {
  let folder = "";
  const at = (path: string) => files.join(folder, path);

  describe(name, () => {
    beforeAll(async () => {
      folder = await files.makeTempFolder("leyden_files_");
    });
    afterAll(async () => {
      await files.remove(folder);
    });

    it("write and read bytes and text, making folders", async () => {
      await files.write(at("a/b/c.bin"), bytes(0, 255, 7));
      expect(await files.read(at("a/b/c.bin"))).toEqual(bytes(0, 255, 7));
      await files.write(at("a/b/c.bin"), "grün");
      expect(await files.readText(at("a/b/c.bin"))).toBe("grün");
      expect(await files.size(at("a/b/c.bin"))).toBe(5);
      expect((await files.list(at("a/b"))).map(({ name }) => name)).toEqual(["c.bin"]);
    });

    it("read an empty file", async () => {
      await files.write(at("empty"), "");
      expect(await files.read(at("empty"))).toHaveLength(0);
      expect(await files.readRange(at("empty"), 0, 0)).toHaveLength(0);
    });

    it("write only a view's own bytes", async () => {
      const whole = bytes(1, 2, 3, 4);
      await files.write(at("view"), whole.subarray(1, 3));
      expect(await files.read(at("view"))).toEqual(bytes(2, 3));
    });

    it("read a range, and refuse one past the end", async () => {
      await files.write(at("range"), bytes(0, 1, 2, 3, 4, 5, 6, 7));
      expect(await files.readRange(at("range"), 2, 3)).toEqual(bytes(2, 3, 4));
      expect(await files.readRange(at("range"), 8, 0)).toHaveLength(0);
      await expect(files.readRange(at("range"), 6, 3)).rejects.toMatchObject({ code: "file_truncated", exitCode: 4 });
      await expect(files.readRange(at("range"), 6, 3)).rejects.toThrow("ends at byte 8; bytes 6 to 9 were wanted.");
    });

    it("append", async () => {
      await files.append(at("log/x"), "one\n");
      await files.append(at("log/x"), bytes(116, 119, 111), { flush: true });
      expect(await files.readText(at("log/x"))).toBe("one\ntwo");
    });

    it("list by name with kinds and sizes", async () => {
      await files.write(at("list/b"), "12");
      await files.write(at("list/a/x"), "1");
      await files.write(at("list/C"), "");
      expect(await files.list(at("list"))).toEqual([
        { name: "C", kind: "file", sizeBytes: 0 },
        { name: "a", kind: "folder", sizeBytes: 0 },
        { name: "b", kind: "file", sizeBytes: 2 },
      ]);
    });

    it("know what exists", async () => {
      await files.makeFolder(at("made/deep"));
      await files.makeFolder(at("made/deep"));
      expect(await files.exists(at("made/deep"))).toBe(true);
      expect(await files.exists(at("made/deep/none"))).toBe(false);
    });

    it("copy a tree to a new place only", async () => {
      await files.write(at("tree/a/x"), "1");
      await files.copy(at("tree"), at("copy"));
      await files.write(at("tree/a/x"), "2");
      expect(await files.readText(at("copy/a/x"))).toBe("1");
      await expect(files.copy(at("tree"), at("copy"))).rejects.toMatchObject({ code: "file_failed" });
      expect(await files.readText(at("copy/a/x"))).toBe("1");
    });

    it("rename over a file, and a folder", async () => {
      await files.write(at("from"), "new");
      await files.write(at("to"), "old");
      await files.rename(at("from"), at("to"));
      expect(await files.readText(at("to"))).toBe("new");
      expect(await files.exists(at("from"))).toBe(false);
      await files.write(at("step.tmp/x"), "1");
      await files.rename(at("step.tmp"), at("step"));
      expect(await files.readText(at("step/x"))).toBe("1");
      expect(await files.exists(at("step.tmp"))).toBe(false);
    });

    it("remove trees and what is not there", async () => {
      await files.write(at("gone/a/b"), "1");
      await files.remove(at("gone"));
      await files.remove(at("gone"));
      expect(await files.exists(at("gone"))).toBe(false);
    });

    it("say what is missing", async () => {
      for (const call of [files.read, files.readText, files.size, files.list]) {
        await expect(call(at("nothing"))).rejects.toMatchObject({ code: "file_missing" });
        await expect(call(at("nothing"))).rejects.toThrow(`There is no ${at("nothing")}.`);
      }
      await expect(files.copy(at("nothing"), at("x"))).rejects.toMatchObject({ code: "file_missing" });
    });

    it("join and resolve paths", () => {
      expect(files.join("/a", "b", "../c")).toBe("/a/c");
      expect(files.absolute("/a/./b")).toBe("/a/b");
    });
  });
}
