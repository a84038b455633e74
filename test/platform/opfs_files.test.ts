// What the origin's private file system says when it can store no more: where a person makes room.
import { afterEach, describe, expect, it, vi } from "vitest";
import english from "../../src/app/page/texts.en.json" with { type: "json" };
import { originPrivateFiles } from "../../src/platform/opfs_files.ts";

afterEach(() => vi.unstubAllGlobals());

describe("a browser's storage that is full", () => {
  it("is a full disk, and the place where things are deleted is named as the page calls it", async () => {
    const getDirectory = async () => {
      throw new DOMException("no room", "QuotaExceededError");
    };
    vi.stubGlobal("navigator", { storage: { getDirectory } });
    await expect(originPrivateFiles.write("/runs/calc/a", "text")).rejects.toMatchObject({
      code: "disk_full",
      message: "The browser's storage is full; /runs/calc/a was not written.",
      do: `Delete runs or models that you no longer need in this page's section ${english["nav.model"]}, then continue.`,
    });
    expect(english["fault.full"]).toContain(`“${english["nav.model"]}”`);
  });
});
