// Plan: Dawn's questions come at once at the start of a wait and by a timer in a long one, each wait anew, a failing one
// included; callbacks of others, those that resolve promises above all, come as if nothing had happened.
import { describe, expect, it } from "vitest";
import { type PollingScope, restDawnPolling } from "../../src/platform/dawn_polling.ts";

/** A scope whose timers run when told to, and what was asked of it. */
class Scope implements PollingScope {
  readonly asked: string[] = [];
  now = 0;
  private readonly queue: (() => void)[] = [];
  readonly performance = { now: (): number => this.now };

  setImmediate = (callback: (...args: unknown[]) => void, ...args: unknown[]): unknown => {
    this.asked.push("immediate");
    this.queue.push(() => callback(...args));
    return "immediate";
  };

  readonly setTimeout = (callback: () => void, ms: number): unknown => {
    this.asked.push(`timer ${ms}`);
    this.queue.push(callback);
    return "timer";
  };

  runNext(): void {
    this.queue.shift()?.();
  }
}

/** A function as native code makes them: without name, parameters or text. */
function native(work: () => void): () => void {
  return Object.defineProperty(work.bind(null), "name", { value: "" });
}

function rested(): Scope {
  const scope = new Scope();
  restDawnPolling(scope);
  return scope;
}

describe("waiting for Dawn", () => {
  it("asks at once at first, then every millisecond, and at once again in the next wait", () => {
    const scope = rested();
    let answers = 0;
    let pending = 5;
    const tick = native(() => {
      answers++;
      scope.now += 0.2;
      if (--pending > 0) scope.setImmediate(tick);
    });
    scope.setImmediate(tick);
    for (let i = 0; i < 5; i++) scope.runNext();
    expect(scope.asked).toEqual(["immediate", "immediate", "timer 1", "timer 1", "timer 1"]);
    pending = 1;
    scope.setImmediate(tick);
    expect(scope.asked.at(-1)).toBe("immediate");
    scope.runNext();
    expect(answers).toBe(6);
  });

  it("begins anew after an answer that failed", () => {
    const scope = rested();
    const failing = native(() => {
      scope.now += 1;
      throw new RangeError("lost");
    });
    for (let i = 0; i < 2; i++) {
      scope.setImmediate(failing);
      expect(() => scope.runNext()).toThrow("lost");
    }
    expect(scope.asked).toEqual(["immediate", "immediate"]);
  });

  it("leaves everybody else's callbacks as they are, in the middle of a wait too", async () => {
    const scope = rested();
    const tick = native(() => {
      scope.now += 1;
      scope.setImmediate(tick);
    });
    scope.setImmediate(tick);
    scope.runNext();
    const got: unknown[] = [];
    const resolved = new Promise<void>((resolve) => scope.setImmediate(resolve as () => void));
    scope.setImmediate((a, b) => void got.push(a, b), 1, 2);
    scope.setImmediate(() => void got.push("arrow"));
    scope.setImmediate(
      native(() => void got.push("bound")),
      "with an argument",
    );
    expect(scope.asked).toEqual(["immediate", "timer 1", "immediate", "immediate", "immediate", "immediate"]);
    for (let i = 0; i < 5; i++) scope.runNext();
    await resolved;
    expect(got).toEqual([1, 2, "arrow", "bound"]);
  });
});
