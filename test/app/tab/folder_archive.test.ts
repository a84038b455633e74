// What people bring in zip archives: however they were packed, read as what was packed, or refused by name.
import { strToU8, zipSync } from "fflate";
import { describe, expect, it } from "vitest";
import { chosenFiles, unzipped } from "../../../src/app/tab/folder_archive.ts";
import { crc32 } from "../../../src/app/tab/zip_archive.ts";
import { file, text } from "./transfer_rig.ts";

const packed = { "m/config.json": strToU8("{}"), "m/a/b.txt": strToU8("hello, hello, hello, hello") };

function textsOf(zip: Uint8Array): Record<string, string> {
  return Object.fromEntries(Object.entries(unzipped(zip)).map(([path, bytes]) => [path, text(bytes as Uint8Array)]));
}

const contents = { "config.json": "{}", "a/b.txt": "hello, hello, hello, hello" };

/** Where the first file's entry of the central directory is. */
function directoryOf(zip: Uint8Array): number {
  return new DataView(zip.buffer, zip.byteOffset).getUint32(zip.length - 6, true);
}

describe("a zip archive", () => {
  it("is read whatever the case of its suffix, and the separators in it", async () => {
    const bytes = zipSync(packed) as Uint8Array<ArrayBuffer>;
    expect(Object.keys(await chosenFiles([{ path: "GOOD.ZIP", file: new Blob([bytes]) }]))).toEqual(
      Object.keys(contents),
    );
    expect(textsOf(bytes)).toEqual(contents);
    const other = Object.entries(packed).map(([path, b]) => [path.replaceAll("/", "\\"), b]);
    expect(textsOf(zipSync({ ...Object.fromEntries(other), "m\\empty\\": new Uint8Array() }))).toEqual(contents);
    const out = { code: "file_path", message: 'The path "..\\x" leads out of its folder.' };
    expect(() => unzipped(zipSync({ "..\\x": strToU8("x") }))).toThrow(expect.objectContaining(out));
  });

  it.each([0, 6] as const)("whose directory lies is refused, packed at level %i", (level) => {
    const damaged = { code: "zip", message: "The zip archive is damaged: m/config.json is not what was packed." };
    const refusal = expect.objectContaining({ code: "zip" });
    const zip = zipSync(packed, { level });
    expect(textsOf(zip)).toEqual(contents);
    const at = directoryOf(zip);
    const changed = (offset: number, value: number): Uint8Array => {
      const copy = zip.slice();
      new DataView(copy.buffer).setUint32(at + offset, value, true);
      return copy;
    };
    expect(() => unzipped(changed(16, 7))).toThrow(expect.objectContaining(damaged));
    expect(() => unzipped(changed(24, 3))).toThrow(refusal);
    const overlong = (): unknown => textsOf(changed(20, 0xfffffff0));
    // What is deflated says itself where it ends.
    if (level === 0) expect(overlong).toThrow(refusal);
    else expect(overlong()).toEqual(contents);
    expect(() => unzipped(zip.subarray(0, zip.length >> 1))).toThrow(refusal);
    expect(() => unzipped(new Uint8Array())).toThrow(refusal);
  });

  it("has the checksum that is published for its algorithm", () => {
    expect(crc32(strToU8("123456789"))).toBe(0xcbf43926);
  });
});

describe("files that cannot lie in one folder", () => {
  it("are refused by name", async () => {
    await expect(chosenFiles([file("a", "x"), file("a/b", "y")])).rejects.toMatchObject({
      code: "file_path",
      message: 'There is a file and a folder "a".',
    });
    await expect(chosenFiles([file("c", "x"), file("d", ""), file("./c", "y")])).rejects.toMatchObject({
      code: "file_path",
      message: 'There are two files "c".',
    });
  });
});
