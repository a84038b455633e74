import type { Device } from "../../src/gpu/device.ts";
import { PlanBuilder } from "../../src/gpu/plan_builder.ts";
import { uploadTensor } from "../../src/gpu/readback.ts";
import { lossHead } from "../../src/ops/loss_head.ts";
import { isCoupled, type LossSettings, lossValues } from "../../src/ops/loss_settings.ts";
import { recordIndexInputs } from "../../src/ops/record_index.ts";
import type { LossCase } from "./loss_reference.ts";
import { hostInputs } from "./loss_run.ts";

/** Sequences of a case's records. */
export interface Units {
  unit: readonly number[];
  /** Of each unit: sum and number of log ratios elsewhere; its mean advantage. */
  outside?: readonly (readonly [number, number])[];
}

/** Statistics and gradient of h of a case under any loss, its records in sequences. */
export async function computeCoupled(
  device: Device,
  c: LossCase,
  loss: LossSettings,
  { unit, outside = [] }: Units,
  chunkBytes?: number,
): Promise<{ stats: Float32Array; dh: Float32Array }> {
  const plan = new PlanBuilder(device, "loss");
  const R = plan.dim("R", c.src.length + 2);
  const T = plan.dim("T", c.T);
  const count = Math.max(...unit) + 1;
  const U = plan.dim("U", count + 2);
  const w = uploadTensor(device, "w", [c.V, c.C], Float32Array.from(c.w));
  const numbers = { weight: plan.input("weight", [R]), advantage: plan.input("advantage", [R]) };
  const units = isCoupled(loss.kind)
    ? {
        unit: plan.input("unit", [R], "u32"),
        off: plan.input("units.off", [count + 3], "u32"),
        order: plan.input("units.order", [R], "u32"),
        outside: plan.input("units.outside", [U, 4]),
      }
    : undefined;
  const inputs = {
    ...{
      h: plan.input("h", [T, c.C]),
      w,
      src: plan.input("src", [R], "u32"),
      target: plan.input("target", [R], "u32"),
    },
    ...{ ...numbers, oldLogprob: plan.input("oldLogprob", [R]), refLogprob: plan.input("refLogprob", [R]) },
    ...(units && { units }),
  };
  const out = lossHead(plan, inputs, {}, { kind: loss.kind, ...(chunkBytes === undefined ? {} : { chunkBytes }) });
  plan.output("stats", out.stats);
  plan.output("dh", out.dh);
  const built = await plan.build();
  const index = recordIndexInputs(unit, count);
  const mean = (u: number): number => {
    const own = c.advantage.filter((_, r) => unit[r] === u && c.weight[r] !== 0);
    return own.length === 0 ? 0 : own.reduce((a, b) => a + b, 0) / own.length;
  };
  const rest = Array.from({ length: count }, (_, u) => [...(outside[u] ?? [0, 0]), mean(u), 0]).flat();
  const unitData = units && {
    unit: Uint32Array.from(unit),
    "units.off": index["records.off"] as Uint32Array,
    "units.order": index["records.order"] as Uint32Array,
    "units.outside": Float32Array.from(rest),
  };
  const read = await built.run(
    { R: c.src.length, T: c.T, U: count, ...lossValues(loss) },
    { ...hostInputs(c), ...unitData },
  );
  built.dispose();
  if (w.storage.kind === "buffer") device.pool.release(w.storage.buffer);
  return read as { stats: Float32Array; dh: Float32Array };
}
