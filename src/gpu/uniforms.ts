import type { Device } from "./device.ts";
import type { PlanValues, ScalarArg } from "./plan_values.ts";
import type { PoolBuffer } from "./pool.ts";
import { usage } from "./usage.ts";

/** A field of a kernel's uniforms with what gives its value at a replay. */
export interface UniformScalar {
  readonly type: "u32" | "i32" | "f32";
  readonly value: ScalarArg;
}

/** The uniforms of all dispatches at one replay, in `bytes` bytes. */
export function scalarBytes(
  steps: readonly { readonly uniformOffset: number; readonly scalars: readonly UniformScalar[] }[],
  values: PlanValues,
  bytes: number,
): ArrayBuffer {
  const view = new DataView(new ArrayBuffer(bytes));
  for (const step of steps) {
    for (const [i, { type, value }] of step.scalars.entries()) {
      const at = step.uniformOffset + 4 * i;
      const number = scalarValue(value, values);
      if (type === "f32") view.setFloat32(at, number, true);
      else if (type === "i32") view.setInt32(at, number, true);
      else view.setUint32(at, number, true);
    }
  }
  return view.buffer;
}

function scalarValue(value: ScalarArg, values: PlanValues): number {
  if (typeof value === "number") return value;
  if (typeof value === "function") return value(values);
  return values[value.name] as number;
}

/** The uniform buffer of a plan; for replays that share a submit, its contents wait in a second one. */
export class Uniforms {
  private readonly device: Device;
  private readonly buffer: PoolBuffer;
  private waiting: PoolBuffer | null = null;

  constructor(device: Device, buffer: PoolBuffer) {
    this.device = device;
    this.buffer = buffer;
  }

  /** Sets the contents before whatever is submitted next. */
  write(contents: ArrayBuffer): void {
    this.device.gpu.queue.writeBuffer(this.buffer.gpu, 0, contents);
  }

  /** Uploads the contents of several replays; returns where they lie. */
  upload(contents: readonly ArrayBuffer[]): PoolBuffer {
    const { bytes } = this.buffer;
    let waiting = this.waiting;
    if (waiting === null || waiting.bytes < bytes * contents.length) {
      this.dispose();
      const use = usage.copySrc | usage.copyDst;
      waiting = this.device.pool.allocate("uniforms of a series", bytes * contents.length, use);
      this.waiting = waiting;
    }
    for (const [i, one] of contents.entries()) this.device.gpu.queue.writeBuffer(waiting.gpu, i * bytes, one);
    return waiting;
  }

  /** Sets the contents to number `i` of those uploaded, before what is encoded next. */
  encode(encoder: GPUCommandEncoder, uploaded: PoolBuffer, i: number): void {
    const { bytes } = this.buffer;
    encoder.copyBufferToBuffer(uploaded.gpu, i * bytes, this.buffer.gpu, 0, bytes);
  }

  dispose(): void {
    if (this.waiting !== null) this.device.pool.release(this.waiting);
    this.waiting = null;
  }
}
