// Plan: questions to the models are answered in the order they were asked in, so that no stream of them holds another
// back; and what the critic learns between two updates is lost with no device.
import { describe, expect, it } from "vitest";
import { LocalEngine } from "../../src/engine/local_engine.ts";
import type { CriticUpdateRequest } from "../../src/schema/row_scores.ts";
import { countingRow, emptyUpdate, request } from "./counting_engine.ts";
import { learnt, numberOf, SumParts, stepped } from "./sum_parts.ts";
import { VirtualClock } from "./virtual_clock.ts";
import { Waits } from "./waits.ts";

/** An engine on the summing model whose device is lost at these operations. */
async function open(losses: readonly number[] = [], clock = new VirtualClock()): Promise<LocalEngine> {
  const policy = { inFlight: "drain", stepsPerQuantum: 1 } as const;
  const device = {
    clock,
    losses: new Set(losses),
    waits: new Waits(policy),
    criticSteps: new Set<string>(),
    operations: 0,
    onStep: async () => {},
  };
  return LocalEngine.open({
    open: async (state) => new SumParts(device, state),
    clock: { ...clock, sleep: async () => {} },
    limits: { maxSequences: 4, prefillTokens: 32, burst: 4 },
    version: 0,
    faults: [],
    policy,
  });
}

const { optimizer } = emptyUpdate("");
const critic = (id: string, row: number): CriticUpdateRequest => ({
  id,
  rows: [countingRow(row)],
  optimizer,
  clipRange: 0,
});

/** The critic and the policy as a snapshot has them. */
async function saved(engine: LocalEngine): Promise<[critic: number, policy: number]> {
  const { files } = await engine.snapshot({ optimizer: true });
  return [numberOf(files["critic/weight"]), numberOf(files.weight)];
}

describe("questions to an engine", () => {
  it("are answered in order: a snapshot is not held back by those who ask on and on", async () => {
    const engine = await open();
    const scores: Promise<unknown>[] = [];
    let answered = false;
    const ask = (): void => {
      const score = engine.score({ id: `s${scores.length}`, ids: Int32Array.of(1), temperature: 1 });
      if (!answered && scores.length < 50) void score.then(ask);
      scores.push(score);
    };
    for (let i = 0; i < 3; i++) ask();
    await engine.snapshot({ optimizer: false });
    answered = true;
    expect(scores.length).toBeLessThan(8);
    for (const score of scores) await score;
    await engine.close();
  });

  it("are timed by what the device does for them: a critic is trained, models are asked", async () => {
    const clock = new VirtualClock();
    const engine = await open([], clock);
    await engine.updateCritic(critic("a", 3));
    await engine.updateCritic(critic("b", 5));
    const rows = { rows: [countingRow(1)], temperature: 1, policy: true, reference: false, values: true };
    await engine.scoreRows({ id: "r", ...rows });
    await engine.score({ id: "s", ids: Int32Array.of(1), temperature: 1 });
    const { deviceSeconds } = await engine.stats();
    // Twice 4 ms of the critic, 3 of rows and 2 of a text.
    expect(deviceSeconds).toMatchObject({ train: 0.008, score: 0.005, optimizer: 0, prefill: 0, decode: 0 });
    const { spans } = await engine.timeline(0);
    expect(spans.map(({ kind }) => kind)).toEqual(["train", "score"]);
    await engine.close();
  });

  it("find the critic's steps on whatever device the engine has by then, each taken once", async () => {
    const steps = [critic("a", 3), critic("b", 5), critic("c", 7)];
    const learned = steps.reduce((weight, { rows }) => stepped(weight, learnt(rows)), 0);
    // At each operation from the first on, and twice in a row: the second time on the fresh device, over the steps again.
    for (let at = 1; at < 9; at++) {
      for (const losses of [[at], [at, at + 1]]) {
        const engine = await open(losses);
        for (const step of steps) await engine.updateCritic(step);
        const { ids } = await engine.generate(request("g", [1], 2));
        expect(Array.from(ids)).toEqual([1, 2]);
        expect(await saved(engine), losses.join()).toEqual([learned, 0]);
        await engine.update({ ...emptyUpdate("u"), rows: [countingRow(9)] });
        await engine.updateCritic(critic("d", 4));
        const after = [stepped(learned, learnt([countingRow(4)])), stepped(0, learnt([countingRow(9)]))];
        expect(await saved(engine), losses.join()).toEqual(after);
        await engine.close();
      }
    }
  });
});
