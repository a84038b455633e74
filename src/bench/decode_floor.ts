import type { Clock } from "../core/clock.ts";
import type { Plan } from "../gpu/plan.ts";
import { PlanBuilder } from "../gpu/plan_builder.ts";
import { uploadTensor } from "../gpu/readback.ts";
import { bufferTensor, type Tensor } from "../gpu/tensor.ts";
import { tensorUsage } from "../gpu/usage.ts";
import type { Model } from "../model/model.ts";
import { gradNorm } from "../ops/grad_norm.ts";
import { type KvFormat, kvFormatBytes } from "../ops/kv_pages.ts";
import { linear } from "../ops/linear.ts";
import { summarizeSamples } from "./suite.ts";

/** What a dispatch costs a software adapter inside a pass (test/bench/LOG.md). */
const dispatchMs = 0.02;
/** Bytes that reading is timed over: more than caches hold. */
const readBytes = 32 * 2 ** 20;
/** Replays of one sample. */
const inARow = 4;

/** The least a decode step can take on a device, in milliseconds, and what it is made of. */
export interface DecodeFloor {
  readonly ms: number;
  /** The model's own products for all rows, with what they cost as dispatches. */
  readonly matmulMs: number;
  /** Reading the keys and values of all rows. */
  readonly kvMs: number;
  readonly readGbps: number;
}

/** What a floor is computed for. */
export interface DecodeWork {
  readonly batch: number;
  /** Tokens whose keys and values each sequence reads. */
  readonly context: number;
  readonly kv: KvFormat;
  /** Dispatches of a whole step; each that is no product counts 20 us. */
  readonly dispatches: number;
}

/** Times what decode steps are made of, between the steps themselves, so that other load falls on both alike. */
export class DecodeFloors {
  private readonly model: Model;
  private readonly clock: Clock;
  private readonly products: ReadonlyMap<number, { readonly plan: Plan; readonly samples: number[] }>;
  private readonly read: Plan;
  private readonly readSamples: number[] = [];
  private readonly tensors: readonly Tensor[];

  private constructor(model: Model, clock: Clock, products: ReadonlyMap<number, Plan>, read: Plan, tensors: Tensor[]) {
    this.model = model;
    this.clock = clock;
    this.products = new Map([...products].map(([batch, plan]) => [batch, { plan, samples: [] }]));
    this.read = read;
    this.tensors = tensors;
  }

  /** Prepares the products of `batches` and a reading, and runs each once. */
  static async create(model: Model, clock: Clock, batches: readonly number[]): Promise<DecodeFloors> {
    const { device } = model;
    const products = new Map<number, Plan>();
    for (const batch of batches) products.set(batch, await productsPlan(model, batch));
    const buffer = device.pool.allocate("floor.read", readBytes, tensorUsage);
    const stats = uploadTensor(device, "floor.stats", [4], new Float32Array(4));
    const builder = new PlanBuilder(device, "floor.read");
    const source = bufferTensor(buffer, [readBytes / 4]);
    gradNorm(builder, [source], stats, { maxNorm: 1 });
    const floors = new DecodeFloors(model, clock, products, await builder.build(), [source, stats]);
    for (const batch of batches) await floors.sample(batch);
    for (const { samples } of floors.products.values()) samples.length = 0;
    floors.readSamples.length = 0;
    return floors;
  }

  /** Takes a sample of the products of a batch size and of a reading. */
  async sample(batch: number): Promise<void> {
    const { plan, samples } = this.at(batch);
    samples.push(await this.timed(plan, { B: batch }));
    this.readSamples.push(await this.timed(this.read, {}));
  }

  /** The floor by the medians of the samples. */
  floor({ batch, context, kv, dispatches }: DecodeWork): DecodeFloor {
    const { description: d } = this.model;
    const { plan, samples } = this.at(batch);
    const bytesPerMs = readBytes / summarizeSamples(this.readSamples).median;
    const kvBytes = 2 * kvFormatBytes[kv] * d.layers * d.kvHeads * d.headDim * context * batch;
    const matmulMs = summarizeSamples(samples).median;
    const kvMs = kvBytes / bytesPerMs;
    const others = Math.max(0, dispatches - plan.dispatchesAt({ B: batch }));
    return { ms: matmulMs + kvMs + dispatchMs * others, matmulMs, kvMs, readGbps: bytesPerMs / 1e6 };
  }

  /** Releases the device memory. */
  dispose(): void {
    for (const { plan } of this.products.values()) plan.dispose();
    this.read.dispose();
    for (const { storage } of this.tensors) {
      if (storage.kind === "buffer") this.model.device.pool.release(storage.buffer);
    }
  }

  private at(batch: number): { readonly plan: Plan; readonly samples: number[] } {
    return this.products.get(batch) as { readonly plan: Plan; readonly samples: number[] };
  }

  /** Milliseconds of one of a few replays in a row. */
  private async timed(plan: Plan, values: Record<string, number>): Promise<number> {
    const { device } = this.model;
    const start = this.clock.monotonic();
    for (let i = 0; i < inARow; i++) plan.enqueue(values, {});
    await device.idle();
    return (this.clock.monotonic() - start) / inARow;
  }
}

/** All products of one step. */
function productsPlan({ device, weights }: Model, rows: number): Promise<Plan> {
  const plan = new PlanBuilder(device, "floor.products");
  const B = plan.dim("B", rows);
  const matrices = weights.layers.flatMap((l) => [l.qkv.w, l.out.w, l.up.w, l.down.w]);
  for (const [i, w] of [...matrices, weights.head].entries()) {
    const x = plan.input(`x${i}`, [B, w.shape[1] as number]);
    plan.output(`y${i}`, linear.forward(plan, { x, w }, { layout: "out_in" }).out.y);
  }
  return plan.build();
}
