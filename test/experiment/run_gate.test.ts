import { describe, expect, it } from "vitest";
import { RunGate } from "../../src/experiment/run_gate.ts";

/** A loop of `updates` updates that stand still until they are let go; the log says where it is. */
function loopBehind(gate: RunGate, updates: number) {
  const stop = new AbortController();
  const log: string[] = [];
  const ends: (() => void)[] = [];
  const done = (async () => {
    for (let update = 1; update <= updates; update++) {
      await gate.pass(stop.signal);
      log.push(`begins ${update}`);
      await new Promise<void>((resolve) => ends.push(resolve));
      log.push(`ends ${update}`);
    }
    gate.end();
  })();
  const tick = () => new Promise((resolve) => setImmediate(resolve));
  const finish = async () => {
    ends.shift()?.();
    await tick();
  };
  return { stop, log, done, finish, tick };
}

describe("RunGate", () => {
  it("lets everything pass until it is shut, and a pause ends with the update under way", async () => {
    const gate = new RunGate();
    const { log, finish, tick } = loopBehind(gate, 3);
    await tick();
    let paused = false;
    const pause = gate.pause().then(() => {
      paused = true;
    });
    await tick();
    expect([log, paused, gate.isHolding]).toEqual([["begins 1"], false, false]);
    await finish();
    await pause;
    expect([log, gate.isHolding]).toEqual([["begins 1", "ends 1"], true]);
    gate.resume();
    await tick();
    await finish();
    await finish();
    expect(log.at(-1)).toBe("ends 3");
  });

  it("begins shut, and takes one update at a step", async () => {
    const gate = new RunGate(false);
    const { log, finish, tick } = loopBehind(gate, 2);
    await gate.pause();
    expect(log).toEqual([]);
    const step = gate.step();
    await tick();
    await finish();
    await step;
    expect([log, gate.isHolding, gate.isShut]).toEqual([["begins 1", "ends 1"], true, true]);
  });

  it("waits for nobody once the loop is over", async () => {
    const gate = new RunGate(false);
    const { finish, done, tick } = loopBehind(gate, 1);
    const step = gate.step();
    await tick();
    await finish();
    await Promise.all([step, done, gate.pause()]);
    expect(gate.isHolding).toBe(false);
  });

  it("is left by a signal, before and while it holds", async () => {
    const gate = new RunGate(false);
    const { stop, done } = loopBehind(gate, 1);
    await gate.pause();
    stop.abort();
    await expect(done).rejects.toMatchObject({ code: "cancelled" });
    await expect(gate.pass(stop.signal)).rejects.toMatchObject({ code: "cancelled" });
  });
});
