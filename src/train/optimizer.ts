import { FormatError } from "../core/errors.ts";
import type { Device } from "../gpu/device.ts";
import type { Plan } from "../gpu/plan.ts";
import { PlanBuilder } from "../gpu/plan_builder.ts";
import type { SavedForm } from "../model/load_weights.ts";
import { decodePacked, encodePacked } from "../model/packed_file.ts";
import type { PackedTensors } from "../model/packed_tensors.ts";
import { adamwValues } from "../ops/adamw.ts";
import { decodeGradNorm, gradNorm } from "../ops/grad_norm.ts";
import type { OptimizerConfig } from "../schema/loss.ts";
import { FullMoments, type Moments, type MomentType, SmallMoments } from "./moments.ts";

/** How an optimizer works. */
export interface OptimizerOptions {
  /** How the moments are held; default f32. */
  readonly moments?: MomentType;
  /** Gradients of another optimizer's that are one with these where clipping and skipping are decided. */
  readonly clippedWith?: PackedTensors;
}

/** Clipped AdamW over packed parameters; the gradient's norm, the clipping and the skip are decided on the device. */
export class Optimizer {
  /** Running means of the gradient and of its square. */
  private readonly moments: Moments;
  /** Steps taken; those skipped do not count. */
  steps = 0;
  private readonly device: Device;
  private readonly parameters: PackedTensors;
  private readonly gradients: PackedTensors;
  private readonly clippedWith: PackedTensors | undefined;
  private plan: Promise<Plan> | undefined;
  private plainPlan: Promise<Plan> | undefined;

  /** @throws DeviceError "device_memory" */
  constructor(
    device: Device,
    parameters: PackedTensors,
    gradients: PackedTensors,
    { moments = "f32", clippedWith }: OptimizerOptions = {},
  ) {
    this.device = device;
    this.parameters = parameters;
    this.gradients = gradients;
    this.clippedWith = clippedWith;
    this.moments =
      moments === "f32" ? new FullMoments(device, parameters.layout) : new SmallMoments(device, parameters.layout);
  }

  /**
   * One step on `factor` times the present gradients; with a gradient that is not finite nothing changes. `alone`: what
   * `clippedWith` holds does not matter.
   */
  async step(
    config: OptimizerConfig,
    { factor = 1, alone = false }: { readonly factor?: number; readonly alone?: boolean } = {},
  ): Promise<{ gradNorm: number; finite: boolean }> {
    const plan = await this.planOf(alone);
    const values = {
      ...adamwValues(config, this.steps + 1),
      maxGradNorm: config.maxGradNorm,
      factor,
      "adamw8.seed": this.steps + 1,
    };
    const { stats } = await plan.run(values, {});
    const { norm, skipped } = decodeGradNorm(stats as Float32Array);
    if (!skipped) this.steps++;
    return { gradNorm: norm, finite: !skipped };
  }

  /** Moments as the bytes of a safetensors file, with the number of steps in its metadata. */
  async encode(form: SavedForm): Promise<Uint8Array> {
    return encodePacked(form, await this.moments.toHost(), { steps: String(this.steps) });
  }

  /**
   * Continues from what `encode` returned.
   * @throws FormatError "optimizer_state" when it states no step count; or what `decodePacked` throws
   */
  async restore(form: SavedForm, name: string, bytes: Uint8Array): Promise<void> {
    let metadata: Readonly<Record<string, string>> = {};
    await this.moments.load(async (sets) => {
      metadata = await decodePacked(form, sets, name, bytes);
    });
    const steps = Number(metadata.steps);
    if (!Number.isSafeInteger(steps) || steps < 0) {
      throw new FormatError("optimizer_state", `${name} states the step count "${metadata.steps}".`, {
        do: "Resume from a checkpoint that Leyden saved.",
      });
    }
    this.steps = steps;
  }

  dispose(): void {
    for (const plan of [this.plan, this.plainPlan]) {
      // A plan that could not be built has already told whoever waited for it.
      void plan?.then(
        (built) => built.dispose(),
        () => undefined,
      );
    }
    this.moments.dispose();
  }

  /** Bytes of its plan, on a counting device. */
  measure(): number {
    return this.record(this.clippedWith).measure();
  }

  private planOf(alone: boolean): Promise<Plan> {
    if (alone && this.clippedWith !== undefined) {
      this.plainPlan ??= this.record(undefined).build();
      return this.plainPlan;
    }
    this.plan ??= this.record(this.clippedWith).build();
    return this.plan;
  }

  private record(others: PackedTensors | undefined): PlanBuilder {
    const builder = new PlanBuilder(this.device, "optimizer");
    const stats = builder.temp([4], "stats");
    const grads = this.gradients.segments();
    gradNorm(builder, [...grads, ...(others?.segments() ?? [])], stats, {
      maxNorm: builder.scalar("maxGradNorm"),
      factor: builder.scalar("factor"),
    });
    this.moments.record(builder, { params: this.parameters.segments(), grads, stats });
    builder.output("stats", stats);
    return builder;
  }
}
