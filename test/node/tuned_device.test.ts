// Plan: what `leyden bench matmul --tune` kept for this adapter reaches the devices of commands, and their products.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openHostDevice } from "../../src/cli/open_device.ts";
import { writeTuning } from "../../src/engine/tuning_file.ts";
import { tuningKey } from "../../src/gpu/capabilities.ts";
import { selectMatmul } from "../../src/ops/matmul/select.ts";
import { platform } from "../../src/platform/node.ts";

const cacheFolder = await mkdtemp(join(tmpdir(), "leyden_tuned_"));
afterAll(() => rm(cacheFolder, { recursive: true }));

describe("tuned kernels", () => {
  it("are used by later devices of this adapter alone", async () => {
    const here = { ...platform, cacheFolder };
    const before = await openHostDevice(here);
    const key = tuningKey(before.caps);
    const byTable = selectMatmul(before.caps, "NT", 1024, false).map((ranked) => ranked.choice.family);
    before.close();
    await writeTuning(here.files, cacheFolder, "another adapter", [
      { operation: "matmul.NN", fromRows: 65, family: "workgroup" },
    ]);
    await writeTuning(here.files, cacheFolder, key, [
      { operation: "matmul.NT", fromRows: 65, family: "workgroup_64x64" },
    ]);
    const after = await openHostDevice(here);
    expect(byTable).not.toContain("workgroup_64x64");
    expect(selectMatmul(after.caps, "NT", 1024, false).map((ranked) => ranked.choice.family)).toEqual([
      "workgroup_64x64",
    ]);
    expect(selectMatmul(after.caps, "NN", 1024, false)).toEqual(selectMatmul(before.caps, "NN", 1024, false));
    after.close();
  });
});
