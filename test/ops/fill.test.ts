import { describe, expect, it } from "#test";
import type { Device } from "../../src/gpu/device.ts";
import { PlanBuilder } from "../../src/gpu/plan_builder.ts";
import { uploadTensor } from "../../src/gpu/readback.ts";
import { bufferTensor, type Tensor } from "../../src/gpu/tensor.ts";
import { add } from "../../src/ops/add.ts";
import { fill, zero } from "../../src/ops/fill.ts";
import { bindingWindows } from "../../src/ops/windows.ts";
import { testDevice, testDeviceWith } from "./opcheck.ts";

/** The device as if a storage binding held at most `bytes`. */
async function narrow(bytes: number): Promise<Device> {
  const { caps } = await testDevice();
  return testDeviceWith({ limits: { ...caps.limits, maxBindingBytes: bytes } });
}

function release(device: Device, ...tensors: Tensor[]): void {
  for (const t of tensors) if (t.storage.kind === "buffer") device.pool.release(t.storage.buffer);
}

describe("fill, zero and add", () => {
  for (const [limit, n] of [
    [2 ** 27, 5],
    [512, 128],
    [512, 129],
    [700, 1000],
  ] as const) {
    it(`cover every element: ${n} elements in bindings of ${limit} bytes`, async () => {
      const device = await narrow(limit);
      const start = Float32Array.from({ length: n + 3 }, (_, i) => i);
      const whole = uploadTensor(device, "y", [n + 3], start);
      const y: Tensor = { ...whole, shape: [n] };
      const x = uploadTensor(device, "x", [n], start.slice(0, n));
      const plan = new PlanBuilder(device, "fill");
      fill(plan, y, plan.scalar("value"));
      add(plan, y, x);
      plan.output("y", whole);
      const built = await plan.build();
      const want = Array.from(start, (v, i) => (i < n ? v + 2.5 : v));
      expect(Array.from((await built.run({ value: 2.5 }, {})).y as Float32Array)).toEqual(want);
      built.dispose();
      release(device, whole, x);
      expect(device.pool.usage.buffers).toBe(0);
    });
  }

  it("touch only the rows of this replay", async () => {
    const device = await testDevice();
    const plan = new PlanBuilder(device, "zero");
    const rows = plan.dim("T", 5);
    const lasting = uploadTensor(device, "y", [5, 3], new Float32Array(15).fill(1));
    zero(plan, { ...lasting, shape: [rows, 3] });
    plan.output("y", lasting);
    const built = await plan.build();
    const { y } = await built.run({ T: 2 }, {});
    expect(Array.from(y as Float32Array)).toEqual([0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    built.dispose();
    release(device, lasting);
  });

  it("add refuses tensors of different shapes", async () => {
    const device = await testDevice();
    const plan = new PlanBuilder(device, "add");
    expect(() => add(plan, plan.temp([2, 3]), plan.temp([3, 2]))).toThrow(
      "ShapeError[add.x]: expected (2,3), got (3,2).",
    );
  });
});

describe("bindingWindows", () => {
  it("cuts at multiples of the offset alignment and covers the tensor", async () => {
    const device = await narrow(1000);
    const buffer = device.pool.allocate("t", 4 * 1000, 0x80);
    const tensor = bufferTensor(buffer, [10, 100]);
    const windows = bindingWindows(device, tensor);
    expect(windows.map((w) => [w.offsetBytes, w.shape[0]])).toEqual([
      [0, 192],
      [768, 192],
      [1536, 192],
      [2304, 192],
      [3072, 192],
      [3840, 40],
    ]);
    expect(bindingWindows(device, bufferTensor(buffer, [250]))).toHaveLength(1);
    device.pool.release(buffer);
  });

  it("refuses a dynamic tensor that does not fit", async () => {
    const device = await narrow(1000);
    const plan = new PlanBuilder(device, "w");
    const tensor = plan.temp([plan.dim("T", 100), 4], "h");
    expect(() => bindingWindows(device, tensor)).toThrow("ShapeError[windows.h]: expected (<=250), got (T<=100,4).");
  });
});
