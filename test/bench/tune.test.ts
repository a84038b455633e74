// Plan: the tenth that a challenger must win by; the table on disk read back, replaced by adapter, refused when broken;
// what is tuned chooses kernels for many rows, never for the few of decoding.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { pickFamily } from "../../src/bench/tune.ts";
import { readTuning, writeTuning } from "../../src/engine/tuning_file.ts";
import type { Capabilities } from "../../src/gpu/capabilities.ts";
import { selectMatmul } from "../../src/ops/matmul/select.ts";
import { platform } from "../../src/platform/node.ts";

const { files } = platform;
const folders: string[] = [];
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "leyden_tuning_"));
  folders.push(made);
  return made;
}

describe("choosing kernels by measuring", () => {
  it("replaces the table's family by one that is a tenth faster, and by the fastest of those", () => {
    expect(pickFamily(10, { direct: 9.1, workgroup: 12 })).toBeNull();
    expect(pickFamily(10, { direct: 8.9, workgroup: 12 })).toBe("direct");
    expect(pickFamily(10, { direct: 8, workgroup: 7, subgroup: 9 })).toBe("workgroup");
    expect(pickFamily(10, {})).toBeNull();
  });

  it("keeps the winners of each adapter in the cache folder", async () => {
    const cache = await folder();
    expect(await readTuning(files, cache)).toEqual({});
    const direct = [{ operation: "matmul.NN", fromRows: 65, family: "direct" }] as const;
    await writeTuning(files, cache, "one", direct);
    await writeTuning(files, cache, "two", []);
    expect(await readTuning(files, cache)).toEqual({ one: direct, two: [] });
    await writeTuning(files, cache, "one", []);
    expect(await readTuning(files, cache)).toEqual({ one: [], two: [] });
  });

  it("refuses a file that is no table", async () => {
    const cache = await folder();
    for (const text of ["{", "[]", '{"one":[{"operation":"matmul.NN","fromRows":1,"family":"fast"}]}']) {
      await writeFile(join(cache, "tuning.json"), text);
      await expect(readTuning(files, cache)).rejects.toThrow("is no table of tuned kernels.");
    }
  });

  it("serves products of many rows", () => {
    const caps: Capabilities = {
      adapter: "a GPU",
      deviceClass: "gpu",
      subgroupWidth: 32,
      f16: true,
      timestamps: false,
      tuned: [
        { operation: "matmul.NT", fromRows: 65, family: "workgroup_64x64" },
        { operation: "matmul.NT", fromRows: 512, family: "workgroup_128x64" },
      ],
      limits: {
        maxBufferBytes: 2 ** 31,
        maxBindingBytes: 2 ** 27,
        offsetAlignment: 256,
        maxInvocations: 1024,
        maxWorkgroupBytes: 32768,
        maxStorageBuffers: 16,
      },
    };
    const family = (form: "NT" | "TN", rows: number, fixed: boolean) =>
      selectMatmul(caps, form, rows, fixed).map((ranked) => ranked.choice.family);
    expect(family("NT", 256, false)).toEqual(["workgroup_64x64"]);
    expect(family("NT", 4096, false)).toEqual(["workgroup_128x64"]);
    expect(family("TN", 4096, true)).toEqual(["workgroup"]);
    expect(family("NT", 64, false)).toEqual(["gemv", "workgroup"]);
  });
});
