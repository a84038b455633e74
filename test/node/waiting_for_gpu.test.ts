// Plan: a thread that waits for the device leaves the processor to it.
import { describe, expect, it } from "vitest";
import { PlanBuilder } from "../../src/gpu/plan_builder.ts";
import { matmul } from "../../src/ops/matmul/matmul.ts";
import { openTestDevice } from "../runtime/gpu.ts";

describe("waiting for the GPU", () => {
  it("takes a small part of the time it lasts", async () => {
    const device = await openTestDevice();
    const builder = new PlanBuilder(device, "long");
    const n = 256;
    const [a, b] = [builder.input("a", [n, n]), builder.input("b", [n, n])];
    const c = builder.lasting("c", [n, n]);
    for (let i = 0; i < 400; i++) matmul(builder, { a, b, c, form: "NN", M: n, N: n, K: n });
    const plan = await builder.build();
    await plan.run({}, {});
    const [cpu, start] = [process.threadCpuUsage(), performance.now()];
    plan.enqueue({}, {});
    const submitted = performance.now();
    await device.idle();
    const { user, system } = process.threadCpuUsage(cpu);
    const waited = performance.now() - submitted;
    expect(waited).toBeGreaterThan(50);
    // What submitting took is not waiting.
    expect((user + system) / 1000 - (submitted - start)).toBeLessThan(0.2 * waited);
    device.close();
  });
});
