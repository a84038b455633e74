// The ground under every other device test: the runtime finds an adapter, opens a device and computes. It never skips,
// so a machine where all other device tests skip still fails here when it has no working WebGPU.
import { describe, expect, it } from "#test";
import { openTestGpu } from "../runtime/gpu.ts";

const storage = 0x80;
const copySrc = 0x04;
const copyDst = 0x08;
const mapRead = 0x01;

const code = `
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  if (id.x < arrayLength(&out)) { out[id.x] = id.x * id.x + 7u; }
}`;

async function squares(device: GPUDevice, n: number): Promise<Uint32Array> {
  const buffer = device.createBuffer({ size: 4 * n, usage: storage | copySrc });
  const readable = device.createBuffer({ size: 4 * n, usage: mapRead | copyDst });
  const module = device.createShaderModule({ code });
  const pipeline = device.createComputePipeline({ layout: "auto", compute: { module, entryPoint: "main" } });
  const entries = [{ binding: 0, resource: { buffer } }];
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
  pass.dispatchWorkgroups(Math.ceil(n / 64));
  pass.end();
  encoder.copyBufferToBuffer(buffer, 0, readable, 0, 4 * n);
  device.queue.submit([encoder.finish()]);
  await readable.mapAsync(mapRead);
  const out = new Uint32Array(readable.getMappedRange().slice(0));
  readable.destroy();
  buffer.destroy();
  return out;
}

describe("adapter", () => {
  it("opens a device and computes with it", async () => {
    const adapter = await (await openTestGpu()).requestAdapter();
    expect(adapter, "an adapter; run leyden doctor").not.toBeNull();
    const device = await (adapter as GPUAdapter).requestDevice();
    device.pushErrorScope("validation");
    const got = await squares(device, 1000);
    expect(await device.popErrorScope()).toBeNull();
    expect(got).toEqual(Uint32Array.from({ length: 1000 }, (_, i) => i * i + 7));
    device.destroy();
  });

  it("is the same GPU object on every call", async () => {
    expect(await openTestGpu()).toBe(await openTestGpu());
  });
});
