import { DeviceError } from "../core/errors.ts";
import type { Device } from "./device.ts";
import { type Kernel, withWritable } from "./kernel.ts";

/** A compiled entry point with its explicit bind group layout. */
export interface CompiledKernel {
  readonly pipeline: GPUComputePipeline;
  readonly layout: GPUBindGroupLayout;
}

/** Override constants of a pipeline. */
export type Constants = Readonly<Record<string, number>>;

/** Compiles each (code, entry, constants, writable set) once per device. */
export class PipelineCache {
  private readonly device: Device;
  private readonly compiled = new Map<string, Promise<CompiledKernel>>();

  constructor(device: Device) {
    this.device = device;
  }

  /** Number of pipelines compiled so far. */
  get size(): number {
    return this.compiled.size;
  }

  /**
   * The pipeline of a kernel. `writable` names read bindings that must be declared read_write, because WebGPU forbids
   * one buffer as both in a dispatch. @throws DeviceError "shader" with the offending line.
   */
  get(kernel: Kernel, constants: Constants, writable: readonly string[]): Promise<CompiledKernel> {
    const key = JSON.stringify([kernel.code, kernel.entry, kernel.bindings, constants, writable]);
    let found = this.compiled.get(key);
    if (found === undefined) {
      found = this.compile(kernel, constants, writable);
      this.compiled.set(key, found);
      found.catch(() => this.compiled.delete(key));
    }
    return found;
  }

  private async compile(kernel: Kernel, constants: Constants, writable: readonly string[]): Promise<CompiledKernel> {
    const gpu = this.device.gpu;
    const code = withWritable(kernel.code, writable);
    const visibility = 0x4; // GPUShaderStage.COMPUTE; Node has no such global.
    const entries: GPUBindGroupLayoutEntry[] = kernel.bindings.map((b) => ({
      binding: b.binding,
      visibility,
      buffer: { type: b.access === "read" && !writable.includes(b.name) ? "read-only-storage" : "storage" },
    }));
    entries.push({ binding: kernel.uniformBinding, visibility, buffer: { type: "uniform" } });
    const { layout, module, pipelineLayout } = await this.device.checked(kernel.label, () => {
      const bindGroupLayout = gpu.createBindGroupLayout({ label: kernel.label, entries });
      return {
        layout: bindGroupLayout,
        module: gpu.createShaderModule({ label: kernel.label, code }),
        pipelineLayout: gpu.createPipelineLayout({ bindGroupLayouts: [bindGroupLayout] }),
      };
    });
    const descriptor = {
      label: kernel.label,
      layout: pipelineLayout,
      compute: { module, entryPoint: kernel.entry, constants: { ...constants } },
    };
    const pipeline = await this.device
      .orLost(gpu.createComputePipelineAsync(descriptor))
      .catch(async (failure: unknown) => {
        throw failure instanceof DeviceError ? failure : await shaderError(kernel, module, code, failure);
      });
    return { pipeline, layout };
  }
}

async function shaderError(
  kernel: Kernel,
  module: GPUShaderModule,
  code: string,
  cause: unknown,
): Promise<DeviceError> {
  const info = await module.getCompilationInfo();
  const first = info.messages.find((m) => m.type === "error");
  const line = first === undefined ? "" : ` Line ${first.lineNum}: ${code.split("\n")[first.lineNum - 1]?.trim()}`;
  const reason = first?.message ?? (cause as { message?: string } | null)?.message ?? "no reason given";
  return new DeviceError("shader", `Kernel "${kernel.label}" did not compile: ${reason}${line}`, {
    cause,
    do: "This is a fault in Leyden: report it with the adapter's name.",
  });
}
