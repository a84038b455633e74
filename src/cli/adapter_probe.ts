// Run by `leyden doctor` as a process of its own, because a broken driver may crash instead of failing: finds the
// adapter, computes once with it, and prints what it found as one line of JSON.
import { asLeydenError } from "../core/errors.ts";
import { adapterName, deviceClassOf } from "../gpu/capabilities.ts";
import { usage } from "../gpu/usage.ts";

/** An adapter as the probe found it. */
export interface ProbedAdapter {
  name: string;
  vendor: string;
  architecture: string;
  device: string;
  description: string;
  isFallback: boolean;
  class: "software" | "gpu";
  features: string[];
  limits: Record<string, number>;
  /** False when a small computation came out wrong. */
  computes: boolean;
}

/** What the probe prints: the adapter, null when there is none, or why WebGPU could not be opened at all. */
export interface ProbeReport {
  adapter: ProbedAdapter | null;
  error?: { code: string; message: string; do: string };
}

const count = 256;
const code = `
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) { out[id.x] = id.x * id.x + 7u; }`;

/** True when the device computes i * i + 7 for i < 256. */
async function computes(device: GPUDevice): Promise<boolean> {
  const size = 4 * count;
  const buffer = device.createBuffer({ size, usage: usage.storage | usage.copySrc });
  const readable = device.createBuffer({ size, usage: usage.mapRead | usage.copyDst });
  const module = device.createShaderModule({ code });
  const pipeline = device.createComputePipeline({ layout: "auto", compute: { module, entryPoint: "main" } });
  const layout = pipeline.getBindGroupLayout(0);
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, device.createBindGroup({ layout, entries: [{ binding: 0, resource: { buffer } }] }));
  pass.dispatchWorkgroups(count / 64);
  pass.end();
  encoder.copyBufferToBuffer(buffer, 0, readable, 0, size);
  device.queue.submit([encoder.finish()]);
  await readable.mapAsync(usage.mapRead);
  const got = new Uint32Array(readable.getMappedRange());
  return got.every((value, i) => value === i * i + 7);
}

function numbersOf(limits: GPUSupportedLimits): Record<string, number> {
  const out: Record<string, number> = {};
  for (const name in limits) {
    const value: unknown = limits[name as keyof GPUSupportedLimits];
    if (typeof value === "number") out[name] = value;
  }
  return out;
}

async function probe(gpu: GPU): Promise<ProbedAdapter | null> {
  const adapter = await gpu.requestAdapter();
  if (adapter === null) return null;
  const { info } = adapter;
  const features = [...adapter.features].sort();
  const limits = numbersOf(adapter.limits);
  const device = await adapter.requestDevice();
  return {
    name: adapterName(info),
    vendor: info.vendor,
    architecture: info.architecture,
    device: info.device,
    description: info.description,
    isFallback: info.isFallbackAdapter,
    class: deviceClassOf(info),
    features,
    limits,
    computes: await computes(device),
  };
}

const { platform } = await ("Deno" in globalThis ? import("../platform/deno.ts") : import("../platform/node.ts"));
let report: ProbeReport;
try {
  report = { adapter: await probe(await platform.gpu()) };
} catch (thrown) {
  report = { adapter: null, error: asLeydenError(thrown).toJSON() };
}
platform.terminal.out(`${JSON.stringify(report)}\n`);
platform.terminal.exit(0);
