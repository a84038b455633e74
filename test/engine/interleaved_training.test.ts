import { describe, expect, it } from "vitest";
import type { DevicePolicy } from "../../src/schedule/device_schedule.ts";
import type { UpdateRequest } from "../../src/schema/engine.ts";
import { countingRow, emptyUpdate, expected, openEngine, request } from "./counting_engine.ts";

const keep: DevicePolicy = { inFlight: "keep", stepsPerQuantum: 1 };
const recompute: DevicePolicy = { inFlight: "recompute", stepsPerQuantum: 1 };
const { loss } = emptyUpdate("");

const accumulated = (id: string, gradientScale = 1): UpdateRequest => ({
  ...emptyUpdate(id),
  accumulated: true,
  gradientScale,
});
const rows = (...ids: number[]) => ids.map(countingRow);

describe("training between bursts", () => {
  it("adds up what was accumulated, scales it, and answers in order", async () => {
    const { engine } = await openEngine([], 0, keep);
    const parts = [
      engine.accumulate({ id: "a", rows: rows(3, 4), loss }),
      engine.accumulate({ id: "b", rows: rows(5), loss }),
    ];
    const update = engine.update({ ...accumulated("u", 0.5), rows: rows(8) });
    expect((await Promise.all(parts)).map((r) => [Array.from(r.logprobs), r.version])).toEqual([
      [[-3, -4], 0],
      [[-5], 0],
    ]);
    expect(await update).toMatchObject({ version: 1, drainMs: 0, logprobs: Float32Array.of(-8) });
    // Weight 0 + 1 + (3 + 4 + 5 + 8) / 2.
    expect((await engine.snapshot({ optimizer: false })).weightsSha256).toBe("11");
    await engine.close();
  });

  it("drops what no step asked for", async () => {
    const { engine } = await openEngine([], 0, keep);
    await engine.accumulate({ id: "a", rows: rows(3), loss });
    await engine.update({ ...emptyUpdate("u"), rows: rows(2) });
    expect((await engine.snapshot({ optimizer: false })).weightsSha256).toBe("3");
    await engine.close();
  });

  it("runs quanta between decode bursts, and steps while sequences are in flight", async () => {
    const { engine, log } = await openEngine([], 0, keep);
    const running = engine.generate(request("g", [1], 24));
    await Promise.resolve();
    const update = engine.update({ ...emptyUpdate("u"), rows: rows(1, 2, 3) });
    const [result] = await Promise.all([running, update]);
    const kinds = log.map((line) => line.split(" ")[0]);
    expect(kinds.join(" ")).toContain("train decode train decode train");
    expect(kinds.indexOf("update")).toBeLessThan(kinds.lastIndexOf("decode"));
    const versions = Array.from(result.versions);
    expect(new Set(versions)).toEqual(new Set([0, 1]));
    expect(versions).toEqual([...versions].sort());
    // Before the step weight 0 draws, after it weight 7, in a context that is kept.
    const old = versions.indexOf(1);
    const first = expected([1], old);
    expect(Array.from(result.ids)).toEqual([...first, ...expected([1, ...first], 24 - old, 7)]);
    await engine.close();
  });

  it("keeps or recomputes what sequences in flight have", async () => {
    for (const [policy, again] of [
      [keep, false],
      [recompute, true],
    ] as const) {
      const { engine, log } = await openEngine([], 0, policy);
      const running = engine.generate(request("g", [1, 2, 3], 16));
      while (!log.includes("decode 1x4")) await Promise.resolve();
      await Promise.all([running, engine.update({ ...emptyUpdate("u"), rows: rows(1) })]);
      const after = log.slice(log.indexOf("update u") + 1);
      expect(after.some((line) => line.startsWith("prefill 0-"))).toBe(again);
      await engine.close();
    }
  });

  it("begins a prompt again that was not through when the weights changed", async () => {
    const { engine, log } = await openEngine([], 0, keep);
    const prompt = Array.from({ length: 70 }, () => 1);
    const running = engine.generate(request("g", prompt, 2));
    while (!log.includes("prefill 0-32")) await Promise.resolve();
    await Promise.all([running, engine.update(emptyUpdate("u"))]);
    expect(log.filter((line) => line === "prefill 0-32")).toHaveLength(2);
    expect(Array.from((await running).versions)).toEqual([1, 1]);
    await engine.close();
  });

  it("gives new calls no page that other weights have filled", async () => {
    const { engine } = await openEngine([], 0, keep);
    const prompt = Array.from({ length: 20 }, () => 2);
    const running = engine.generate(request("g", prompt, 40));
    await engine.update({ ...emptyUpdate("u"), rows: rows(1, 1, 1) });
    const first = Array.from((await running).ids);
    const next = await engine.generate(request("h", [...prompt, ...first], 1));
    expect(next.cachedTokens).toBe(0);
    await engine.close();
  });

  it("computes collected gradients again when their device is lost", async () => {
    const { engine, log } = await openEngine([{ kind: "device-lost", update: 2 }], 0, keep);
    await engine.update(emptyUpdate("u1"));
    await engine.accumulate({ id: "a", rows: rows(3), loss });
    await engine.accumulate({ id: "b", rows: rows(4), loss });
    expect((await engine.update(accumulated("u2"))).version).toBe(2);
    expect((await engine.snapshot({ optimizer: false })).weightsSha256).toBe(`${1 + 1 + 7}`);
    expect(log).toContain("dispose");
    expect((await engine.stats()).deviceLosses).toBe(1);
    await engine.close();
  });

  it("keeps the rest of a step when one of its parts is refused", async () => {
    const { engine } = await openEngine([], 0, keep);
    const good = engine.accumulate({ id: "a", rows: rows(3), loss });
    const empty = { ...countingRow(0), ids: new Int32Array(0) };
    const bad = engine.accumulate({ id: "b", rows: [countingRow(9), empty], loss });
    await expect(bad).rejects.toMatchObject({ code: "train_row" });
    await good;
    await engine.update(accumulated("u"));
    expect((await engine.snapshot({ optimizer: false })).weightsSha256).toBe("4");
    await engine.close();
  });

  it("accumulates under the draining policy too, and only its update waits", async () => {
    const { engine, log } = await openEngine();
    const running = engine.generate(request("g", [1], 12));
    await engine.accumulate({ id: "a", rows: rows(2), loss });
    expect(log.filter((line) => line.startsWith("decode")).length).toBeLessThan(3);
    const [result] = await Promise.all([running, engine.update(accumulated("u"))]);
    expect(Array.from(result.versions)).toEqual(new Array(12).fill(0));
    await engine.close();
  });
});
