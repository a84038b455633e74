import { describe, expect, it } from "vitest";
import { EnvironmentError } from "../../src/core/errors.ts";
import { emptyUpdate, expected, openEngine, request } from "./counting_engine.ts";

const noAdapter = () => new EnvironmentError("no_adapter", "No WebGPU adapter was found on this machine.");

describe("LocalEngine", () => {
  it("answers each of many requests as if it were alone", async () => {
    const { engine } = await openEngine();
    const prompts = Array.from({ length: 9 }, (_, i) => Array.from({ length: 1 + 5 * i }, (_, j) => (i * j) % 11));
    const results = await Promise.all(prompts.map((p, i) => engine.generate(request(`${i}`, p, 3 + i))));
    for (const [i, r] of results.entries()) {
      expect(Array.from(r.ids)).toEqual(expected(prompts[i] as number[], 3 + i));
      expect(Array.from(r.logprobs)).toEqual(Array.from(r.ids, (id) => -id));
      expect(r.finishReason).toBe("length");
    }
    await engine.close();
  });

  it("ends at the first stop id, keeps it, and drops the overshoot", async () => {
    const { engine } = await openEngine();
    const drawn = expected([1, 2], 8);
    const stop = drawn[2] as number;
    const r = await engine.generate(request("a", [1, 2], 8, { stopIds: [stop] }));
    expect(Array.from(r.ids)).toEqual(drawn.slice(0, 3));
    expect(r).toMatchObject({ finishReason: "stop", stopped: stop });
    await engine.close();
  });

  it("ends at a stop string that spans tokens", async () => {
    const { engine } = await openEngine();
    const drawn = expected([3], 8);
    const text = `${drawn[1]}><${drawn[2]}`;
    const r = await engine.generate(request("a", [3], 8, { stopStrings: [text] }));
    expect(Array.from(r.ids)).toEqual(drawn.slice(0, 3));
    expect(r.stopped).toBe(text);
    await engine.close();
  });

  it("updates only when nothing is in flight, holds what comes meanwhile, and answers it with the new version", async () => {
    const { engine, log } = await openEngine();
    const before = engine.generate(request("a", [1], 12));
    await Promise.resolve();
    const update = engine.update(emptyUpdate("u"));
    const after = engine.generate(request("b", [1], 2));
    expect(Array.from((await before).versions)).toEqual(new Array(12).fill(0));
    expect((await update).version).toBe(1);
    const result = await after;
    expect(Array.from(result.ids)).toEqual(expected([1], 2, 1));
    expect(Array.from(result.versions)).toEqual([1, 1]);
    expect(log.indexOf("update u")).toBeGreaterThan(0);
    await engine.close();
  });

  it("drains, holds, and resumes", async () => {
    const { engine } = await openEngine();
    const running = engine.generate(request("a", [1], 9));
    await engine.drain();
    await running;
    let answered = false;
    const held = engine.generate(request("b", [1], 1)).then(() => {
      answered = true;
    });
    await new Promise((r) => setTimeout(r, 5));
    expect(answered).toBe(false);
    expect((await engine.stats()).queuedSequences).toBe(1);
    await engine.resume();
    await held;
    await engine.close();
  });

  it("cancels running and held generations", async () => {
    const { engine } = await openEngine();
    const running = engine.generate(request("a", [1], 100));
    await Promise.resolve();
    await engine.cancel("a");
    expect((await running).finishReason).toBe("cancelled");
    void engine.drain();
    const held = engine.generate(request("b", [1], 1));
    await engine.cancel("b");
    expect(await held).toMatchObject({ finishReason: "cancelled", ids: new Int32Array(0) });
    await engine.cancel("unknown");
    await engine.close();
  });

  it("reuses a finished conversation's pages for its next turn", async () => {
    const { engine } = await openEngine();
    const prompt = Array.from({ length: 30 }, (_, i) => i % 9);
    const first = await engine.generate(request("a", prompt, 20));
    const next = [...prompt, ...first.ids, 7];
    const second = await engine.generate(request("b", next, 2));
    expect(second.cachedTokens).toBe(48);
    expect(Array.from(second.ids)).toEqual(expected(next, 2));
    await engine.close();
  });

  it("starts over on a fresh device after a loss, from the last committed weights", async () => {
    const { engine, log } = await openEngine([{ kind: "device-lost", update: 2 }]);
    await engine.update(emptyUpdate("one"));
    const second = await engine.update(emptyUpdate("two"));
    expect(second.version).toBe(2);
    expect(log).toContain("dispose");
    expect((await engine.snapshot({ optimizer: false })).weightsSha256).toBe("2");
    expect((await engine.stats()).deviceLosses).toBe(1);
    const r = await engine.generate(request("a", [4], 3));
    expect(Array.from(r.ids)).toEqual(expected([4], 3, 2));
    await engine.close();
  });

  it("takes a step again that was lost before its weights were saved, and counts it once", async () => {
    const { engine } = await openEngine([], 2);
    await engine.update(emptyUpdate("one"));
    expect((await engine.update(emptyUpdate("two"))).version).toBe(2);
    expect((await engine.stats()).deviceLosses).toBe(1);
    expect((await engine.snapshot({ optimizer: false })).weightsSha256).toBe("2");
    expect((await engine.info()).version).toBe(2);
    await engine.close();
  });

  it("waits for a device that does not come back at once", async () => {
    let refused = 0;
    const { engine, log } = await openEngine([{ kind: "device-lost", update: 1 }], 0, undefined, (done) => {
      if (done.length > 0 && refused++ < 2) throw noAdapter();
    });
    await engine.generate(request("a", [4], 1));
    expect((await engine.update(emptyUpdate("one"))).version).toBe(1);
    expect(log.filter((line) => line.startsWith("sleep"))).toEqual(["sleep 1000", "sleep 3000"]);
    expect((await engine.stats()).deviceLosses).toBe(1);
    await engine.close();
  });

  it("gives up when no device comes back, and says so to whoever asks from then on", async () => {
    const { engine, log } = await openEngine([{ kind: "device-lost", update: 1 }], 0, undefined, (done) => {
      if (done.length > 0) throw noAdapter();
    });
    await engine.generate(request("a", [4], 1));
    const lost = {
      code: "device_lost",
      message: "The GPU device was lost: test. No other could be opened: No WebGPU adapter was found on this machine.",
      do: "Close what else uses the device or start the program or browser again, then resume from the last checkpoint.",
    };
    await expect(engine.update(emptyUpdate("one"))).rejects.toMatchObject(lost);
    expect(log.filter((line) => line.startsWith("sleep"))).toEqual(["sleep 1000", "sleep 3000", "sleep 9000"]);
    await expect(engine.generate(request("b", [1], 1))).rejects.toMatchObject(lost);
    await expect(engine.snapshot({ optimizer: true })).rejects.toMatchObject(lost);
    await expect(engine.info()).rejects.toMatchObject(lost);
    await engine.close();
  });

  it("gives up on devices that are lost one after the other", async () => {
    const { engine } = await openEngine([], 1, undefined, (done) => done.splice(0));
    await expect(engine.update(emptyUpdate("one"))).rejects.toMatchObject({
      code: "device_lost",
      message: "The GPU device was lost: test. It was lost 4 times in a row.",
    });
    expect((await engine.stats()).deviceLosses).toBe(4);
    await engine.close();
  });

  it("makes a fault at the update it names, whatever was lost before", async () => {
    const { engine } = await openEngine([
      { kind: "device-lost", update: 1 },
      { kind: "nan-grad", update: 2 },
    ]);
    expect(await engine.update(emptyUpdate("one"))).toMatchObject({ version: 1, skipped: null });
    expect(await engine.update(emptyUpdate("two"))).toMatchObject({ version: 1, skipped: "nan_gradient" });
    await engine.close();
  });

  it("counts a skipped step as no new version", async () => {
    const { engine } = await openEngine([{ kind: "nan-grad", update: 1 }]);
    expect(await engine.update(emptyUpdate("u"))).toMatchObject({ version: 0, skipped: "nan_gradient" });
    await engine.close();
  });

  it("refuses what cannot be answered, and says what to do", async () => {
    const { engine } = await openEngine();
    await expect(engine.generate(request("a", [], 1))).rejects.toMatchObject({ code: "empty_prompt" });
    await expect(engine.generate(request("a", [50], 1))).rejects.toMatchObject({ code: "token_out_of_range" });
    await expect(engine.generate(request("a", [-1], 1))).rejects.toMatchObject({ code: "token_out_of_range" });
    await expect(engine.generate(request("a", new Array(200).fill(1), 1))).rejects.toMatchObject({
      code: "context_length_exceeded",
      message: "The prompt has 200 tokens; this model has room for 199 and one reply token.",
    });
    await expect(engine.generate(request("a", [1], 0))).rejects.toMatchObject({ code: "config" });
    const running = engine.generate(request("a", [1], 5));
    await expect(engine.generate(request("a", [1], 5))).rejects.toMatchObject({ code: "duplicate_request" });
    await running;
    await engine.close();
    await expect(engine.generate(request("b", [1], 1))).rejects.toMatchObject({ code: "engine_closed" });
  });
});
