import { describe, expect, it } from "vitest";
import type { Capabilities, KernelFamily } from "../../src/gpu/capabilities.ts";
import { deviceOptions } from "../../src/gpu/device_options.ts";
import { attentionVariant } from "../../src/ops/attention/select.ts";
import { pagedFamily } from "../../src/ops/paged_attention/select.ts";

describe("device options", () => {
  it("come from the environment", () => {
    expect(deviceOptions({})).toEqual({ disable: [] });
    expect(deviceOptions({ LEYDEN_KERNELS: "direct", LEYDEN_GPU_DISABLE: "subgroups,shader-f16" })).toEqual({
      disable: ["subgroups", "shader-f16"],
      kernels: "direct",
    });
  });

  it("name what there is instead of an unknown name", () => {
    expect(() => deviceOptions({ LEYDEN_KERNELS: "subgroups" })).toThrow(
      'LEYDEN_KERNELS is "subgroups"; the families of kernels are subgroup, gemv, direct, workgroup, ' +
        "workgroup_64x64, workgroup_128x64.",
    );
    expect(() => deviceOptions({ LEYDEN_GPU_DISABLE: "f16" })).toThrow(
      'LEYDEN_GPU_DISABLE names "f16"; the features that can be left off are subgroups, shader-f16, timestamp-query.',
    );
  });
});

describe("a family that is asked for", () => {
  const caps: Capabilities = {
    adapter: "llvmpipe",
    deviceClass: "software",
    subgroupWidth: 8,
    f16: false,
    timestamps: false,
    limits: {
      maxBufferBytes: 2 ** 31,
      maxBindingBytes: 2 ** 27,
      offsetAlignment: 256,
      maxInvocations: 1024,
      maxWorkgroupBytes: 32768,
      maxStorageBuffers: 16,
    },
  };
  const asked = (kernels?: KernelFamily): Capabilities => ({ ...caps, kernels });

  it("decides the kernels of attention as well", () => {
    const lanes = (kernels?: KernelFamily) => attentionVariant(asked(kernels), "forward", 32);
    expect(lanes("subgroup")).toMatchObject({ lanes: 8, threads: 8 });
    expect(lanes("direct")).toMatchObject({ lanes: 0, threads: 8 });
    expect(lanes("workgroup_64x64")).toMatchObject({ lanes: 0, threads: 64 });
    expect(lanes("gemv")).toEqual(lanes());
  });

  it("decides the kernels of decoding", () => {
    const families: (KernelFamily | undefined)[] = ["subgroup", "direct", "workgroup", "gemv", undefined];
    const kernels = families.map((family) => pagedFamily(asked(family)));
    expect(kernels).toEqual(["subgroup", "alone", "shared", "subgroup", "subgroup"]);
  });
});
