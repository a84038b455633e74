import type { Device } from "../gpu/device.ts";
import type { Plan } from "../gpu/plan.ts";
import { PlanBuilder } from "../gpu/plan_builder.ts";
import type { PoolBuffer } from "../gpu/pool.ts";
import { bufferTensor, maxBytes, type Tensor } from "../gpu/tensor.ts";
import { tensorUsage } from "../gpu/usage.ts";
import { add } from "../ops/add.ts";

/**
 * The head's part of a tied embedding's gradient, kept apart until the step: were both summed in one place, head and
 * embedding would take turns with the micro-batches, and the sum would depend on how the rows were split.
 */
export class TiedHeadGradient {
  /** (V,C), what the head's gradient accumulates into. */
  readonly tensor: Tensor;
  private readonly device: Device;
  private readonly embed: Tensor;
  private readonly buffer: PoolBuffer;
  private plan: Promise<Plan> | undefined;

  /** `embed` (V,C) is the embedding's own gradient. @throws DeviceError "device_memory" */
  constructor(device: Device, embed: Tensor) {
    this.device = device;
    this.embed = embed;
    this.buffer = device.pool.allocate("tied_head_gradient", maxBytes(embed), tensorUsage);
    this.tensor = bufferTensor(this.buffer, embed.shape, "f32", 0, "tied_head_gradient");
  }

  /** Adds it to the embedding's gradient and begins anew. */
  async fold(): Promise<void> {
    this.plan ??= this.record();
    await (await this.plan).run({}, {});
    this.clear();
  }

  /** Sets it to 0. */
  clear(): void {
    const encoder = this.device.gpu.createCommandEncoder({ label: "clear tied_head_gradient" });
    encoder.clearBuffer(this.buffer.gpu);
    this.device.submit(encoder);
  }

  dispose(): void {
    void this.plan?.then(
      (plan) => plan.dispose(),
      () => undefined,
    );
    this.device.pool.release(this.buffer);
  }

  private record(): Promise<Plan> {
    const builder = new PlanBuilder(this.device, "tied_head");
    add(builder, this.embed, this.tensor);
    return builder.build();
  }
}

/** True where sums are kept in one order, so that a tied head's gradient has to be kept apart. */
export function keepsOrder(device: Device): boolean {
  return device.caps.deviceClass === "software";
}
