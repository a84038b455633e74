// Runs only where the other tests of a device run without its optional features: they must be off, whatever the adapter
// has, and a shader that needs one must be refused.
import { describe, expect, it } from "#test";
import { optionalFeatures } from "../../src/gpu/capabilities.ts";
import { openTestDevice } from "../runtime/gpu.ts";

const extensions = { subgroups: "subgroups", f16: "shader-f16" } as const;

describe("a device without optional features", () => {
  it("has none of them", async () => {
    const device = await openTestDevice();
    expect(optionalFeatures.filter((feature) => device.gpu.features.has(feature))).toEqual([]);
    expect(device.caps).toMatchObject({ subgroupWidth: 0, f16: false, timestamps: false });
    device.close();
  });

  for (const [extension, feature] of Object.entries(extensions)) {
    it(`refuses a shader that needs ${feature}`, async () => {
      const device = await openTestDevice();
      device.gpu.pushErrorScope("validation");
      const code = `enable ${extension};\n@compute @workgroup_size(1) fn main() {}`;
      device.gpu.createShaderModule({ code });
      expect(await device.gpu.popErrorScope()).not.toBeNull();
      device.close();
    });
  }
});
