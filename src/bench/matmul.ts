import { Rng, seedKey } from "../core/rng.ts";
import type { Device } from "../gpu/device.ts";
import { PlanBuilder } from "../gpu/plan_builder.ts";
import { uploadTensor } from "../gpu/readback.ts";
import { matmul } from "../ops/matmul/matmul.ts";
import type { MatmulForm } from "../ops/matmul/problem.ts";
import { type BenchContext, type Measurement, type Suite, summarizeSamples } from "./suite.ts";

const cases: readonly (readonly [size: number, form: MatmulForm])[] = [
  [512, "NN"],
  [512, "NT"],
  [512, "TN"],
  [1024, "NN"],
];

/** A sample lasts at least this long, in milliseconds, so that submitting weighs little. */
const sampleMs = 50;
const mostProducts = 500;

/** Square f32 products by the kernels that the table chooses. */
export const matmulSuite: Suite = {
  name: "matmul",
  summary: "square f32 matrix products in all forms",
  async *run(context) {
    const device = await context.openDevice();
    try {
      for (const [size, form] of cases) yield await measure(context, device, size, form);
    } finally {
      device.close();
    }
  },
};

async function measure(
  { clock, repeats }: BenchContext,
  device: Device,
  size: number,
  form: MatmulForm,
): Promise<Measurement> {
  const rng = new Rng(seedKey(size));
  const operand = (name: string) =>
    uploadTensor(
      device,
      name,
      [size, size],
      Float32Array.from({ length: size * size }, () => rng.uniform() - 0.5),
    );
  const tensors = { a: operand("a"), b: operand("b"), c: operand("c") };
  const builder = new PlanBuilder(device, `bench.matmul_${form}`);
  matmul(builder, { ...tensors, form, M: size, N: size, K: size });
  const plan = await builder.build();
  /** Milliseconds per product of `count` products in a row. */
  const time = async (count: number): Promise<number> => {
    const start = clock.monotonic();
    for (let i = 0; i < count; i++) plan.enqueue({}, {});
    await device.idle();
    return (clock.monotonic() - start) / count;
  };
  await time(1);
  const count = Math.min(mostProducts, Math.max(1, Math.ceil(sampleMs / (await time(1)))));
  const samples: number[] = [];
  for (let i = 0; i < repeats; i++) samples.push(await time(count));
  plan.dispose();
  for (const { storage } of Object.values(tensors)) {
    if (storage.kind === "buffer") device.pool.release(storage.buffer);
  }
  const gflops = (2 * size ** 3) / 1e6 / summarizeSamples(samples).median;
  return { name: `matmul_${size}_${form.toLowerCase()}`, samples, facts: { gflops } };
}
