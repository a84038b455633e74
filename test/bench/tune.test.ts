// Plan: the tenth that a challenger must win by; no kernel against itself; what is kept of several sizes; the table on
// disk read back, replaced by adapter, refused when broken; what is tuned chooses kernels for many rows, never for the
// few of decoding.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { challengers, keptOf, pickFamily } from "../../src/bench/tune.ts";
import { readTuning, writeTuning } from "../../src/engine/tuning_file.ts";
import type { Capabilities } from "../../src/gpu/capabilities.ts";
import { selectMatmul } from "../../src/ops/matmul/select.ts";
import { platform } from "../../src/platform/node.ts";

const { files } = platform;
const folders: string[] = [];
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

/** A GPU whose tuning found two tiles for NT. */
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

  it("measures no kernel against itself", () => {
    const all = ["direct", "workgroup", "workgroup_64x64", "workgroup_128x64"];
    const untuned = { ...caps, tuned: undefined };
    expect(challengers(untuned, "NN", 1024)).toEqual(all.filter((family) => family !== "workgroup"));
    for (const subgroupWidth of [8, 16]) {
      const llvmpipe: Capabilities = { ...untuned, deviceClass: "software", subgroupWidth };
      for (const form of ["NN", "NT", "TN"] as const) {
        for (const size of [256, 1024]) expect(challengers(llvmpipe, form, size)).toEqual(all);
      }
    }
    const deno: Capabilities = { ...untuned, deviceClass: "software", subgroupWidth: 0 };
    expect(challengers(deno, "NT", 256)).toEqual(all.filter((family) => family !== "direct"));
  });

  it("keeps the table's own family where a winner for fewer rows ends", () => {
    const outcome = (fromRows: number, winner: "direct" | "workgroup_64x64" | null) =>
      ({ fromRows, table: "workgroup", winner }) as const;
    const entry = (fromRows: number, family: string) => ({ operation: "matmul.NN", fromRows, family });
    expect(keptOf("NN", [outcome(65, null), outcome(512, null)])).toEqual([]);
    expect(keptOf("NN", [outcome(65, null), outcome(512, "direct")])).toEqual([entry(512, "direct")]);
    expect(keptOf("NN", [outcome(65, "direct"), outcome(512, "direct")])).toEqual([entry(65, "direct")]);
    expect(keptOf("NN", [outcome(65, "direct"), outcome(512, null)])).toEqual([
      entry(65, "direct"),
      entry(512, "workgroup"),
    ]);
    expect(keptOf("NN", [outcome(65, "direct"), outcome(512, "workgroup_64x64")])).toEqual([
      entry(65, "direct"),
      entry(512, "workgroup_64x64"),
    ]);
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
    const family = (form: "NT" | "TN", rows: number, fixed: boolean) =>
      selectMatmul(caps, form, rows, fixed).map((ranked) => ranked.choice.family);
    expect(family("NT", 256, false)).toEqual(["workgroup_64x64"]);
    expect(family("NT", 4096, false)).toEqual(["workgroup_128x64"]);
    expect(family("TN", 4096, true)).toEqual(["workgroup"]);
    expect(family("NT", 64, false)).toEqual(["gemv", "workgroup"]);
  });
});
