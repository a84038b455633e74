import type { Clock } from "../core/clock.ts";
import type { Device } from "../gpu/device.ts";
import type { Plan } from "../gpu/plan.ts";
import { PlanBuilder } from "../gpu/plan_builder.ts";
import { readBuffer, uploadTensor } from "../gpu/readback.ts";
import type { Tensor } from "../gpu/tensor.ts";
import { matmul } from "../ops/matmul/matmul.ts";
import type { MatmulFamily, MatmulForm } from "../ops/matmul/problem.ts";
import { drawMatrices } from "./peer_work.ts";

/** A square f32 product by the kernels that the table chooses, or by a family. */
export class SquareProduct {
  private readonly device: Device;
  private readonly plan: Plan;
  private readonly tensors: { a: Tensor; b: Tensor; c: Tensor };

  private constructor(device: Device, plan: Plan, tensors: { a: Tensor; b: Tensor; c: Tensor }) {
    this.device = device;
    this.plan = plan;
    this.tensors = tensors;
  }

  static async create(device: Device, size: number, form: MatmulForm, family?: MatmulFamily): Promise<SquareProduct> {
    const { a, b } = drawMatrices(size);
    const upload = (name: string, values: Float32Array) => uploadTensor(device, name, [size, size], values);
    const tensors = { a: upload("a", a), b: upload("b", b), c: upload("c", new Float32Array(size * size)) };
    const builder = new PlanBuilder(device, `bench.matmul_${form}`);
    const families = family === undefined ? undefined : [family];
    matmul(builder, { ...tensors, form, M: size, N: size, K: size, ...(families && { families }) });
    return new SquareProduct(device, await builder.build(), tensors);
  }

  /** Milliseconds per product of `count` products in a row. */
  async time(clock: Clock, count: number): Promise<number> {
    const start = clock.monotonic();
    for (let i = 0; i < count; i++) this.plan.enqueue({}, {});
    await this.device.idle();
    return (clock.monotonic() - start) / count;
  }

  /** First element of the product. */
  async first(): Promise<number> {
    const { storage } = this.tensors.c;
    if (storage.kind !== "buffer") return Number.NaN;
    return new Float32Array(await readBuffer(this.device, storage.buffer, 0, 4))[0] as number;
  }

  dispose(): void {
    this.plan.dispose();
    for (const { storage } of Object.values(this.tensors)) {
      if (storage.kind === "buffer") this.device.pool.release(storage.buffer);
    }
  }
}
