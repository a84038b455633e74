// Plan: every golden model passes on Deno and in Chromium as on Node (golden_models.test.ts), with the features that the run
// leaves off left off there too.
import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { GoldenDevice } from "../../src/cli/golden_device.ts";
import type { GoldenRow } from "../../src/cli/golden_rl/golden_file.ts";
import { optionalFeatures } from "../../src/gpu/capabilities.ts";
import { platform } from "../../src/platform/node.ts";
import { runLeyden } from "../cli/run_leyden.ts";
import { requireShared } from "../shared.ts";

const families = ["gemma", "llama-tied", "llama-untied", "llama3-rope", "qwen2", "qwen3"];
/** Checks of one model, as golden_models.test.ts names them. */
const checksOfModel = 26;
const isBare = platform.env.LEYDEN_GPU_DISABLE === optionalFeatures.join(",");

async function expectFamiliesPass(runtime: string, context: { skip(reason: string): unknown }): Promise<void> {
  const folders = families.map((name) => requireShared(context, `golden/models/${name}`));
  const ran = await runLeyden(["golden", ...folders, "--runtime", runtime, "--json"]);
  const lines = ran.json();
  const rows = lines.slice(0, -1) as GoldenRow[];
  expect(rows.filter((row) => row.pass !== true)).toEqual([]);
  expect(rows).toHaveLength(checksOfModel * families.length);
  const { device } = lines.at(-1) as { device: GoldenDevice };
  if (isBare) expect(device.features).toEqual([]);
  else expect(device.features).not.toEqual([]);
}

describe("golden models", () => {
  it("pass on Deno", (context) => expectFamiliesPass("deno", context));

  it("pass in Chromium", async (context) => {
    const chromium = platform.env.LEYDEN_CHROMIUM ?? "/usr/bin/chromium";
    if (!existsSync(chromium)) context.skip(`no Chromium at ${chromium}`);
    await expectFamiliesPass("chromium", context);
  });
});
