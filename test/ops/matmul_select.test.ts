import { describe, expect, it } from "#test";
import type { Capabilities, KernelFamily } from "../../src/gpu/capabilities.ts";
import type { MatmulForm } from "../../src/ops/matmul/problem.ts";
import { selectMatmul } from "../../src/ops/matmul/select.ts";

describe("the table of kernels", () => {
  const software: Capabilities = {
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
  const gpu: Capabilities = { ...software, adapter: "a GPU", deviceClass: "gpu", subgroupWidth: 32 };
  const names = (caps: Capabilities, form: MatmulForm, rows: number, fixed: boolean): string[] =>
    selectMatmul(caps, form, rows, fixed).map((r) => `${r.choice.family}${r.choice.rows} from ${r.fromRows}`);

  it("buckets the rows of a decoding plan and takes the widest tile elsewhere", () => {
    expect(names(software, "NT", 64, false)).toEqual(["gemv1 from 1", "subgroup8 from 2", "subgroup32 from 17"]);
    expect(names(software, "NT", 8, false)).toEqual(["gemv1 from 1", "subgroup8 from 2"]);
    expect(names(software, "NT", 4096, false)).toEqual(["subgroup32 from 1"]);
    expect(names(software, "NN", 1, true)).toEqual(["gemv1 from 1"]);
    expect(names(software, "TN", 1, true)).toEqual(["subgroup8 from 1"]);
    expect(names(software, "TN", 64, true)).toEqual(["subgroup32 from 1"]);
  });

  it("has taller tiles for wide subgroups, beside the others where the rows are given at replay", () => {
    const wide = { ...software, subgroupWidth: 16 };
    expect(names(wide, "NT", 4096, false)).toEqual(["subgroup32 from 1", "subgroup64 from 33"]);
    expect(names(wide, "NT", 32, false)).toEqual(["gemv1 from 1", "subgroup8 from 2", "subgroup32 from 17"]);
    expect(names(wide, "TN", 256, true)).toEqual(["subgroup64 from 1"]);
  });

  it("uses no subgroups where there are none, and workgroup tiles on a GPU", () => {
    const without = { ...software, subgroupWidth: 0 };
    expect(names(without, "NT", 64, false)).toEqual(["gemv1 from 1", "direct4 from 2", "direct8 from 9"]);
    expect(names(without, "TN", 192, true)).toEqual(["direct8 from 1"]);
    expect(names(gpu, "NN", 4096, false)).toEqual(["workgroup32 from 1"]);
    expect(names(gpu, "NT", 3, true)).toEqual(["gemv1 from 1"]);
  });

  it("obeys a family that is asked for, where it has the form", () => {
    const asked = (kernels: KernelFamily): Capabilities => ({ ...software, kernels });
    expect(names(asked("direct"), "NT", 64, false)).toEqual(["direct8 from 1"]);
    expect(names(asked("workgroup_128x64"), "TN", 64, true)).toEqual(["workgroup_128x64128 from 1"]);
    expect(names(asked("gemv"), "NT", 64, false)).toEqual(["gemv1 from 1"]);
    expect(names(asked("gemv"), "TN", 64, true)).toEqual(["subgroup32 from 1"]);
  });

  it("refuses a family that cannot run", () => {
    expect(() => selectMatmul(software, "TN", 8, true, ["gemv"])).toThrow("Kernel family gemv has no form TN.");
    expect(() => selectMatmul(gpu, "NT", 8, true, ["subgroup"])).toThrow(
      "Kernel family subgroup needs subgroups of 4, 8 or 16 lanes; a GPU has none.",
    );
  });
});
