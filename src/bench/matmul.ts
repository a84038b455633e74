import type { Device } from "../gpu/device.ts";
import type { MatmulForm } from "../ops/matmul/problem.ts";
import { SquareProduct } from "./square_product.ts";
import { type BenchContext, type Measurement, type Suite, summarizeSamples } from "./suite.ts";
import { tuneMatmul } from "./tune.ts";

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
      if (context.tune) yield* tuneMatmul(context, device);
      else for (const [size, form] of cases) yield await measure(context, device, size, form);
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
  const product = await SquareProduct.create(device, size, form);
  await product.time(clock, 1);
  const count = Math.min(mostProducts, Math.max(1, Math.ceil(sampleMs / (await product.time(clock, 1)))));
  const samples: number[] = [];
  for (let i = 0; i < repeats; i++) samples.push(await product.time(clock, count));
  product.dispose();
  const gflops = (2 * size ** 3) / 1e6 / summarizeSamples(samples).median;
  return { name: `matmul_${size}_${form.toLowerCase()}`, samples, facts: { gflops } };
}
