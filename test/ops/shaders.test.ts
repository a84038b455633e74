/** Every shader module through this runtime's compiler: Tint on Node and Chromium, naga on Deno. */
import { describe, expect, it } from "#test";
import { wgsl } from "../../src/gpu/wgsl.gen.ts";
import { lossKinds } from "../../src/ops/loss_settings.ts";
import { testDevice } from "./opcheck.ts";

/** Texts that other modules include; they stand for nothing alone. */
const fragments = Object.entries(wgsl).filter(([, code]) => !code.includes("@compute"));

/** Whole modules, and those in which the host puts one fragment in another's place. */
const modules: readonly (readonly [string, string])[] = [
  ...Object.entries(wgsl).filter(([, code]) => code.includes("@compute")),
  ["sample, one invocation per row", wgsl.sample.replace(wgsl.lanes_shared, wgsl.lanes_alone)],
  ...lossKinds.map(
    (kind) => [`loss_head, ${kind}`, wgsl.loss_head.replace(wgsl.loss_cross_entropy, wgsl[`loss_${kind}`])] as const,
  ),
  ["paged_attention, odd heads", wgsl.paged_attention.replace(wgsl.head_vectors, wgsl.head_scalars)],
  ["paged_attention, pages of halves", wgsl.paged_attention.replace(wgsl.head_vectors, wgsl.head_halves)],
  ["paged_attention_shared, tiles", wgsl.paged_attention_shared.replace(wgsl.tile_of_one, wgsl.tile_of_four)],
  ["paged_attention_shared, halves", wgsl.paged_attention_shared.replace(wgsl.page_floats, wgsl.page_halves)],
];

describe("shaders", () => {
  for (const [name, code] of modules) {
    it(`${name} compiles without a message`, async () => {
      const { gpu } = await testDevice();
      const info = await gpu.createShaderModule({ label: name, code }).getCompilationInfo();
      expect(info.messages.map((m) => `${m.type} line ${m.lineNum}: ${m.message}`)).toEqual([]);
    });
  }

  it("each fragment is part of a module", () => {
    expect(fragments.length).toBeGreaterThan(0);
    for (const [name, text] of fragments) {
      const used = modules.some(([, code]) => code.includes(text));
      expect(`${name} ${used ? "used" : "unused"}`).toBe(`${name} used`);
    }
  });
});
