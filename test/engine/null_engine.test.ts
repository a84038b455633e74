// Plan: length and end of replies, their logprobs, the same draws for a key, room in the context, refusals.
import { describe, expect, it } from "vitest";
import { NullEngine, type NullEngineOptions } from "../../src/engine/null_engine.ts";
import { systemClock } from "../../src/platform/clock.ts";
import type { GenerateRequest } from "../../src/schema/engine.ts";

const options: NullEngineOptions = {
  clock: systemClock,
  vocabSize: 100,
  contextLength: 16,
  ids: Int32Array.from([5, 6, 7]),
  stopId: 99,
  replyTokens: 8,
};

function request(more: Partial<GenerateRequest> = {}): GenerateRequest {
  return {
    id: "a",
    promptIds: Int32Array.from([1, 2]),
    maxTokens: 64,
    sampling: { temperature: 1, topK: 0, topP: 1, minP: 0 },
    key: [1, 2],
    stopIds: [99],
    stopStrings: [],
    ...more,
  };
}

describe("the null engine", () => {
  it("answers with a fixed number of ids, the last of which ends the reply", async () => {
    const engine = new NullEngine(options);
    const result = await engine.generate(request());
    expect(result.ids).toHaveLength(8);
    expect(result.ids.at(-1)).toBe(99);
    expect([...result.ids.subarray(0, 7)].every((id) => options.ids.includes(id))).toBe(true);
    expect([...result.logprobs]).toEqual(new Array(8).fill(Math.fround(-Math.log(100))));
    expect([...result.versions]).toEqual(new Array(8).fill(0));
    expect(result).toMatchObject({ finishReason: "stop", stopped: 99, cachedTokens: 0, truncated: false });
    expect(await engine.stats()).toMatchObject({ promptTokens: 2, sampledTokens: 8 });
  });

  it("draws the same for the same key, and something else for another", async () => {
    const engine = new NullEngine({ ...options, replyTokens: 64, contextLength: 128, stopId: undefined });
    const [a, b, c] = await Promise.all([
      engine.generate(request()),
      engine.generate(request({ id: "b" })),
      engine.generate(request({ key: [1, 3] })),
    ]);
    expect(a.ids).toEqual(b.ids);
    expect(a.ids).not.toEqual(c.ids);
    expect(new Set(a.ids)).toEqual(new Set(options.ids));
  });

  it("is cut by the longest length and by the context", async () => {
    const engine = new NullEngine(options);
    const short = await engine.generate(request({ maxTokens: 3 }));
    expect([short.ids.length, short.finishReason]).toEqual([3, "length"]);
    const full = await engine.generate(request({ promptIds: new Int32Array(14) }));
    expect([full.ids.length, full.finishReason]).toEqual([3, "length"]);
  });

  it("refuses what an engine refuses, and what takes a model", async () => {
    const engine = new NullEngine(options);
    await expect(engine.generate(request({ promptIds: new Int32Array(0) }))).rejects.toThrow("no tokens");
    await expect(engine.generate(request({ promptIds: new Int32Array(16) }))).rejects.toMatchObject({
      code: "context_length_exceeded",
    });
    await expect(engine.generate(request({ maxTokens: 0 }))).rejects.toMatchObject({ code: "config" });
    await expect(engine.snapshot({ optimizer: false })).rejects.toMatchObject({
      code: "engine_read_only",
      message: "The null policy has no model to score with or to train.",
      do: "Serve a model: --policy model.",
    });
    await engine.close();
    await expect(engine.generate(request())).rejects.toMatchObject({ code: "engine_closed" });
  });
});
