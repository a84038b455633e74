// Plan: every golden model within its tolerances with each family of kernels asked for in turn, and in Chromium with
// all optional features of the adapter left off.
import { describe, expect, it } from "vitest";
import { runGoldenInChromium } from "../../src/cli/golden_chromium.ts";
import { runGoldenItem } from "../../src/cli/golden_items.ts";
import { findGoldenItems, type GoldenItem } from "../../src/cli/golden_paths.ts";
import type { GoldenRow } from "../../src/cli/golden_rl/golden_file.ts";
import { kernelFamilies, optionalFeatures } from "../../src/gpu/capabilities.ts";
import { openDevice } from "../../src/gpu/device.ts";
import { platform } from "../../src/platform/node.ts";
import { requireShared } from "../shared.ts";

const supported = ["llama-untied", "llama-tied", "llama3-rope", "qwen2", "qwen3", "gemma"];
/** Checks of one model, and of all. */
const fewestChecks = 20 * supported.length;

async function goldenModels(context: { skip(reason: string): unknown }): Promise<GoldenItem[]> {
  const folders = supported.map((name) => requireShared(context, `golden/models/${name}`));
  return (await Promise.all(folders.map((folder) => findGoldenItems(platform.files, folder)))).flat();
}

function expectPassed(rows: readonly GoldenRow[]): void {
  expect(rows.filter((row) => row.pass !== true)).toEqual([]);
  expect(rows.length).toBeGreaterThan(fewestChecks);
}

describe("golden models", () => {
  for (const kernels of kernelFamilies) {
    it(`pass with ${kernels} kernels alone`, async (context) => {
      const items = await goldenModels(context);
      const device = await openDevice(await platform.gpu(), { kernels });
      const ground = { files: platform.files, clock: platform.clock, device: async () => device };
      const rows: GoldenRow[] = [];
      for (const item of items) rows.push(...(await runGoldenItem(ground, item)));
      device.close();
      expectPassed(rows);
    });
  }

  it("pass in Chromium without subgroups, f16 and timestamps", async (context) => {
    const env = { ...platform.env, LEYDEN_GPU_DISABLE: optionalFeatures.join(",") };
    const { rows, device } = await runGoldenInChromium({ ...platform, env }, await goldenModels(context));
    expect(device?.features).toEqual([]);
    expectPassed(rows);
  });
});
