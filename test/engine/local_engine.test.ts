import { describe, expect, it } from "vitest";
import type { Clock } from "../../src/core/clock.ts";
import { DeviceError } from "../../src/core/errors.ts";
import type { EngineParts, ModelState } from "../../src/engine/engine_parts.ts";
import { EngineClient, serveEngine } from "../../src/engine/engine_port.ts";
import { type EngineFault, parseEngineFaults } from "../../src/engine/faults.ts";
import { LocalEngine } from "../../src/engine/local_engine.ts";
import type { Drawn } from "../../src/infer/runner.ts";
import type { Sequence } from "../../src/infer/sequence.ts";
import type { GenerateRequest, UpdateRequest, UpdateResult } from "../../src/schema/engine.ts";
import type { WorkerPort } from "../../src/schema/platform.ts";

const clock: Clock = { now: () => 0, monotonic: () => 0, sleep: async () => {} };

/** A model whose next token is the sum of all tokens plus its weight, modulo 50: any mix-up of tokens shows. */
class CountingParts implements EngineParts {
  readonly info = {
    adapter: "counting",
    deviceClass: "software" as const,
    family: "counting",
    parameters: 1,
    vocabSize: 50,
    contextLength: 200,
  };
  readonly pageCount = 12;
  readonly log: string[];
  weight: number;
  private lost = false;

  constructor(log: string[], weight: number) {
    this.log = log;
    this.weight = weight;
  }

  decodeText = (ids: Int32Array): string => Array.from(ids, (id) => `<${id}>`).join("");

  private next(tokens: number[]): number {
    return (tokens.reduce((a, b) => a + b, 0) + this.weight) % 50;
  }

  private async draw(sequence: Sequence, steps: number): Promise<Drawn> {
    await Promise.resolve();
    if (this.lost) throw new DeviceError("device_lost", "The GPU device was lost: test.");
    const tokens = Array.from(sequence.tokens.subarray(0, sequence.length));
    const ids: number[] = [];
    for (let i = 0; i < steps; i++) {
      ids.push(this.next(tokens));
      tokens.push(ids.at(-1) as number);
    }
    return { ids, logprobs: ids.map((id) => -id) };
  }

  async prefill(parts: Parameters<EngineParts["prefill"]>[0]): Promise<Drawn[]> {
    this.log.push(`prefill ${parts.map((p) => `${p.from}-${p.to}`).join(" ")}`);
    return Promise.all(
      parts.map((p) => (p.samples ? this.draw(p.sequence, 1) : Promise.resolve({ ids: [], logprobs: [] }))),
    );
  }

  async decode(work: Parameters<EngineParts["decode"]>[0]): Promise<Drawn[]> {
    this.log.push(`decode ${work.sequences.length}x${work.steps}`);
    return Promise.all(work.sequences.map((s) => this.draw(s, work.steps)));
  }

  async score(): Promise<{ logprobs: Float32Array; entropies: Float32Array }> {
    return { logprobs: new Float32Array([0, -1]), entropies: new Float32Array([0, 2]) };
  }

  async update(request: UpdateRequest, fault: "nan-grad" | null): Promise<Omit<UpdateResult, "version">> {
    await Promise.resolve();
    if (this.lost) throw new DeviceError("device_lost", "The GPU device was lost: test.");
    this.log.push(`update ${request.id}`);
    if (fault === null) this.weight++;
    return {
      skipped: fault === null ? null : "nan_gradient",
      loss: 0,
      gradNorm: 0,
      entropy: 0,
      clipFrac: 0,
      dualClipFrac: 0,
      approxKl: 0,
      logprobDiffMax: 0,
      tokens: 0,
      computedTokens: 0,
      logprobs: new Float32Array(0),
      trainMs: 0,
    };
  }

  async snapshot(): Promise<ModelState> {
    return { files: { weight: Uint8Array.of(this.weight) }, weightsSha256: `${this.weight}`, optimizerSteps: 0 };
  }

  loseDevice(): void {
    this.lost = true;
  }

  dispose(): void {
    this.log.push("dispose");
  }
}

async function openEngine(faults: readonly EngineFault[] = []): Promise<{ engine: LocalEngine; log: string[] }> {
  const log: string[] = [];
  const engine = await LocalEngine.open({
    open: async (state) => new CountingParts(log, state?.files.weight?.[0] ?? 0),
    clock,
    limits: { maxSequences: 4, prefillTokens: 32, burst: 4 },
    version: 0,
    faults,
  });
  return { engine, log };
}

function request(
  id: string,
  promptIds: number[],
  maxTokens: number,
  more: Partial<GenerateRequest> = {},
): GenerateRequest {
  return {
    id,
    promptIds: Int32Array.from(promptIds),
    maxTokens,
    sampling: { temperature: 1, topK: 0, topP: 1, minP: 0 },
    key: [0, 0],
    stopIds: [],
    stopStrings: [],
    ...more,
  };
}

const emptyUpdate = (id: string): UpdateRequest => ({
  id,
  rows: [],
  loss: {
    kind: "ppo",
    temperature: 1,
    clipLow: 0.2,
    clipHigh: 0.2,
    dualClip: 3,
    klCoef: 0,
    klKind: "k3",
    entropyCoef: 0,
  },
  optimizer: { learningRate: 0, beta1: 0.9, beta2: 0.95, eps: 1e-8, weightDecay: 0, maxGradNorm: 1 },
});

/** What CountingParts draws, worked out apart from it. */
function expected(prompt: number[], count: number, weight = 0): number[] {
  const tokens = [...prompt];
  for (let i = 0; i < count; i++) tokens.push((tokens.reduce((a, b) => a + b, 0) + weight) % 50);
  return tokens.slice(prompt.length);
}

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

/** Two ports joined back to back, with the cloning a worker boundary does. */
function portPair(): [WorkerPort, WorkerPort] {
  const receivers: ((message: unknown) => void)[] = [];
  const port = (own: number): WorkerPort => ({
    post: (message) => {
      const copy = structuredClone(message);
      queueMicrotask(() => receivers[1 - own]?.(copy));
    },
    onMessage: (receive) => {
      receivers[own] = receive;
    },
  });
  return [port(0), port(1)];
}

describe("EngineClient", () => {
  it("carries results and typed errors across a port", async () => {
    const { engine } = await openEngine();
    const [near, far] = portPair();
    serveEngine(engine, far);
    const client = new EngineClient(near);
    const r = await client.generate(request("a", [1, 2], 4));
    expect(Array.from(r.ids)).toEqual(expected([1, 2], 4));
    await expect(client.generate(request("b", [99], 1))).rejects.toMatchObject({
      code: "token_out_of_range",
      do: "Encode with the tokenizer of this model.",
    });
    expect((await client.info()).vocabSize).toBe(50);
    client.fail(new Error("worker gone"));
    await expect(client.info()).rejects.toThrow("worker gone");
    await engine.close();
  });
});

describe("parseEngineFaults", () => {
  it("reads the engine's faults and passes over the others'", () => {
    expect(parseEngineFaults("device-lost@update:3, nan-grad@2,kill-after-append:100")).toEqual([
      { kind: "device-lost", update: 3 },
      { kind: "nan-grad", update: 2 },
    ]);
    expect(parseEngineFaults(undefined)).toEqual([]);
    expect(() => parseEngineFaults("nan-grad")).toThrow('LEYDEN_FAULT has "nan-grad", which names no fault.');
  });
});
