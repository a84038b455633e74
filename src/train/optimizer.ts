import type { Device } from "../gpu/device.ts";
import type { Plan } from "../gpu/plan.ts";
import { PlanBuilder } from "../gpu/plan_builder.ts";
import type { Tensor } from "../gpu/tensor.ts";
import { PackedTensors } from "../model/packed_tensors.ts";
import { adamw, adamwValues } from "../ops/adamw.ts";
import { decodeGradNorm, gradNorm } from "../ops/grad_norm.ts";
import type { OptimizerConfig } from "../schema/loss.ts";

/** Clipped AdamW over packed parameters; the gradient's norm, the clipping and the skip are decided on the device. */
export class Optimizer {
  /** Running means of the gradient and of its square, under torch.optim.AdamW's names. */
  readonly moments: Readonly<Record<"exp_avg." | "exp_avg_sq.", PackedTensors>>;
  /** Steps taken; those skipped do not count. */
  steps = 0;
  private readonly device: Device;
  private readonly parameters: PackedTensors;
  private readonly gradients: PackedTensors;
  private plan: Promise<Plan> | undefined;

  /** @throws DeviceError "device_memory" */
  constructor(device: Device, parameters: PackedTensors, gradients: PackedTensors) {
    this.device = device;
    this.parameters = parameters;
    this.gradients = gradients;
    this.moments = {
      "exp_avg.": new PackedTensors(device, parameters.layout, "first_moment"),
      "exp_avg_sq.": new PackedTensors(device, parameters.layout, "second_moment"),
    };
  }

  /** One step on `factor` times the present gradients; with a gradient that is not finite nothing changes. */
  async step(config: OptimizerConfig, factor = 1): Promise<{ gradNorm: number; finite: boolean }> {
    this.plan ??= this.record().build();
    const plan = await this.plan;
    const values = { ...adamwValues(config, this.steps + 1), maxGradNorm: config.maxGradNorm, factor };
    const { stats } = await plan.run(values, {});
    const { norm, skipped } = decodeGradNorm(stats as Float32Array);
    if (!skipped) this.steps++;
    return { gradNorm: norm, finite: !skipped };
  }

  dispose(): void {
    // A plan that could not be built has already told whoever waited for it.
    void this.plan?.then(
      (plan) => plan.dispose(),
      () => undefined,
    );
    for (const moment of Object.values(this.moments)) moment.dispose();
  }

  /** Bytes of its plan, on a counting device. */
  measure(): number {
    return this.record().measure();
  }

  private record(): PlanBuilder {
    const builder = new PlanBuilder(this.device, "optimizer");
    const stats = builder.temp([4], "stats");
    const grads = this.gradients.segments();
    gradNorm(builder, grads, stats, { maxNorm: builder.scalar("maxGradNorm"), factor: builder.scalar("factor") });
    const [params, m, v] = [this.parameters, ...Object.values(this.moments)].map((p) => p.segments()) as [
      Tensor[],
      Tensor[],
      Tensor[],
    ];
    for (const [i, segment] of params.entries()) {
      adamw(builder, { params: segment, grads: grads[i] as Tensor, m: m[i] as Tensor, v: v[i] as Tensor, stats });
    }
    builder.output("stats", stats);
    return builder;
  }
}
