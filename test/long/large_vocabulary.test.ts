// Plan: the head and its loss at Qwen3's vocabulary, forward and backward, against float64 of some records and rows, with
// the sizes of every binding and of the temporaries; attention's memory over long sequences; fifty equal steps.
import { describe, expect, it } from "vitest";
import { Rng, seedKey } from "../../src/core/rng.ts";
import type { Device } from "../../src/gpu/device.ts";
import { PlanBuilder } from "../../src/gpu/plan_builder.ts";
import { readBuffer } from "../../src/gpu/readback.ts";
import { bufferTensor, type Tensor } from "../../src/gpu/tensor.ts";
import { tensorUsage } from "../../src/gpu/usage.ts";
import { lossHeadChunkBytes } from "../../src/model/memory_budget.ts";
import { lossHead } from "../../src/ops/loss_head.ts";
import { lossValues } from "../../src/ops/loss_settings.ts";
import { recordIndexInputs } from "../../src/ops/record_index.ts";
import { crossEntropy, open, row } from "../device/training_rows.ts";
import { qwen3Config } from "../model/configs.ts";
import { expectClose, testDevice } from "../ops/opcheck.ts";

const mebibyte = 2 ** 20;
const [V, C, T] = [151936, 1024, 2048];

/** Bytes of the largest storage binding of everything that is bound meanwhile. */
function watchBindings(device: Device): () => number {
  const { gpu } = device;
  const create = gpu.createBindGroup.bind(gpu);
  let largest = 0;
  gpu.createBindGroup = (descriptor) => {
    for (const { resource } of descriptor.entries) {
      if ("buffer" in resource) largest = Math.max(largest, resource.size ?? resource.buffer.size);
    }
    return create(descriptor);
  };
  return () => {
    gpu.createBindGroup = create;
    return largest;
  };
}

/** Uniform numbers of standard deviation 0.02, cheap to make by the hundred million. */
function noise(count: number, seed: number): Float32Array {
  const out = new Float32Array(count);
  let state = seed;
  for (let i = 0; i < count; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    out[i] = state * (0.0346 / 2 ** 31);
  }
  return out;
}

function upload(device: Device, label: string, shape: readonly number[], values: Float32Array): Tensor {
  const buffer = device.pool.allocate(label, values.byteLength, tensorUsage);
  const step = 2 ** 24;
  for (let at = 0; at < values.length; at += step) {
    const part = values.subarray(at, at + step);
    device.gpu.queue.writeBuffer(buffer.gpu, 4 * at, part.buffer as ArrayBuffer, part.byteOffset, part.byteLength);
  }
  return bufferTensor(buffer, shape);
}

function release(device: Device, ...tensors: readonly Tensor[]): void {
  for (const { storage } of tensors) if (storage.kind === "buffer") device.pool.release(storage.buffer);
}

function dot(a: Float32Array, at: number, b: Float32Array, bt: number): number {
  let sum = 0;
  for (let i = 0; i < C; i++) sum += (a[at + i] as number) * (b[bt + i] as number);
  return sum;
}

describe("at the size of Qwen3", () => {
  it("head and loss take no binding above 128 MiB and under 300 MiB of temporaries", async () => {
    const device = await testDevice();
    const rng = new Rng(seedKey(1));
    const hostW = noise(V * C, 1);
    const hostH = Float32Array.from({ length: T * C }, () => rng.normal());
    const w = upload(device, "w", [V, C], hostW);
    const h = upload(device, "h", [T, C], hostH);
    const dwBuffer = device.pool.allocate("dw", 4 * V * C, tensorUsage);
    const dw = bufferTensor(dwBuffer, [V, C]);
    const before = device.pool.usage.bytes;
    const largestBinding = watchBindings(device);
    const plan = new PlanBuilder(device, "head");
    const records = {
      src: plan.input("src", [T], "u32"),
      target: plan.input("target", [T], "u32"),
      weight: plan.input("weight", [T]),
      advantage: plan.input("advantage", [T]),
      oldLogprob: plan.input("oldLogprob", [T]),
      refLogprob: plan.input("refLogprob", [T]),
    };
    const { stats, dh } = lossHead(plan, { h, w, ...records }, { w: dw }, { chunkBytes: lossHeadChunkBytes });
    plan.output("stats", stats);
    plan.output("dh", dh);
    const built = await plan.build();
    const bound = largestBinding();
    expect(bound).toBeLessThanOrEqual(128 * mebibyte);
    expect(bound).toBeGreaterThan(64 * mebibyte);
    const src = Uint32Array.from({ length: T }, (_, r) => r);
    const target = Uint32Array.from({ length: T }, () => rng.below(V));
    const weight = new Float32Array(T).fill(1 / T);
    const zeros = new Float32Array(T);
    const inputs = { src, target, weight, advantage: zeros, oldLogprob: zeros, refLogprob: zeros };
    const started = performance.now();
    const out = await built.run(lossValues(crossEntropy), { ...inputs, ...recordIndexInputs(src, T) });
    const seconds = (performance.now() - started) / 1000;
    const temporaries = device.pool.usage.peakBytes - before;
    console.log(
      `head and loss, V ${V}, C ${C}, T ${T}: ${seconds.toFixed(1)} s, ${(temporaries / mebibyte).toFixed(1)} MiB`,
    );
    expect(temporaries).toBeLessThan(300 * mebibyte);

    const logprob = (r: number): number => (out.stats as Float32Array)[8 * r] as number;
    for (const r of [0, 777, T - 1]) {
      const logits = Float64Array.from({ length: V }, (_, v) => dot(hostH, r * C, hostW, v * C));
      const largest = logits.reduce((a, b) => Math.max(a, b));
      const logSum = largest + Math.log(logits.reduce((n, l) => n + Math.exp(l - largest), 0));
      const wanted = (logits[target[r] as number] as number) - logSum;
      expect(Math.abs(logprob(r) - wanted)).toBeLessThan(2e-5);
      const gradient = new Float64Array(C);
      for (let v = 0; v < V; v++) {
        const slope = (Math.exp((logits[v] as number) - logSum) - (v === target[r] ? 1 : 0)) / T;
        for (let i = 0; i < C; i++) gradient[i] = (gradient[i] as number) + slope * (hostW[v * C + i] as number);
      }
      const got = (out.dh as Float32Array).subarray(r * C, (r + 1) * C);
      expectClose(
        `dh ${r}`,
        got.map((g) => T * g),
        gradient.map((g) => T * g),
        1e-5,
      );
    }
    // A row in each window, some of them targets: log-sums follow from the log-probabilities above.
    for (const v of [target[5] as number, 100, 60000, V - 1]) {
      const wanted = new Float64Array(C);
      for (let r = 0; r < T; r++) {
        const t = target[r] as number;
        const logSum = dot(hostH, r * C, hostW, t * C) - logprob(r);
        const slope = Math.exp(dot(hostH, r * C, hostW, v * C) - logSum) - (v === t ? 1 : 0);
        for (let i = 0; i < C; i++) wanted[i] = (wanted[i] as number) + slope * (hostH[r * C + i] as number);
      }
      const got = new Float32Array(await readBuffer(device, dwBuffer, 4 * v * C, 4 * C));
      expectClose(
        `dw ${v}`,
        got.map((g) => T * g),
        wanted,
        1e-4,
      );
    }
    built.dispose();
    release(device, w, h, dw);
  });

  it("attention's memory grows linearly with the sequence, up to 4,096", async () => {
    const json = { ...qwen3Config, hidden_size: 64, intermediate_size: 128, max_position_embeddings: 4096 };
    const bytes: number[] = [];
    for (const length of [1024, 2048, 4096]) {
      const { model, trainer } = await open(json, 4096);
      const rng = new Rng(seedKey(2));
      const ids = Array.from({ length }, () => rng.below(40));
      const { statistics } = await trainer.computeGradients([row(ids, rng)], crossEntropy);
      expect(Number.isFinite(statistics.loss)).toBe(true);
      bytes.push(trainer.activationBytes);
      trainer.dispose();
      model.dispose();
    }
    console.log(
      `activations at 1,024, 2,048 and 4,096 tokens: ${bytes.map((b) => (b / mebibyte).toFixed(1)).join(", ")} MiB`,
    );
    const [short, middle, long] = bytes as [number, number, number];
    expect(middle / short).toBeLessThan(2.05);
    expect(long / middle).toBeLessThan(2.05);
  });

  it("fifty equal steps leave pool and process as large as ten", async () => {
    const { model, trainer } = await open({ ...qwen3Config, hidden_size: 64, intermediate_size: 128 }, 512);
    const rng = new Rng(seedKey(3));
    const rows = Array.from({ length: 12 }, () =>
      row(
        Array.from({ length: 60 }, () => rng.below(40)),
        rng,
      ),
    );
    const still = { learningRate: 0, beta1: 0.9, beta2: 0.95, eps: 1e-8, weightDecay: 0, maxGradNorm: 1 };
    const sizes: { bytes: number; buffers: number; created: number; rss: number }[] = [];
    const losses = new Set<number>();
    for (let step = 1; step <= 50; step++) {
      losses.add((await trainer.step(rows, crossEntropy, still)).loss);
      if (step % 10 !== 0) continue;
      const { bytes, buffers, created } = model.device.pool.usage;
      sizes.push({ bytes, buffers, created, rss: process.memoryUsage().rss });
    }
    expect(losses.size).toBe(1);
    const [first, last] = [sizes[0], sizes.at(-1)] as [(typeof sizes)[0], (typeof sizes)[0]];
    console.log(`after 10 steps ${JSON.stringify(first)}, after 50 ${JSON.stringify(last)}`);
    expect({ ...last, rss: 0 }).toEqual({ ...first, rss: 0 });
    expect(last.rss).toBeLessThan(1.05 * first.rss + 8 * mebibyte);
    trainer.dispose();
    model.dispose();
  });
});
