// The `expect` that device tests get under Deno must judge as vitest's does: each case is put to both.
import { describe, expect, it } from "vitest";
import { expect as shim } from "./expect.ts";

type Expect = (received: unknown) => Record<string, (...args: unknown[]) => unknown>;

/** True when a claim holds. */
function holds(claim: () => unknown): boolean {
  try {
    claim();
    return true;
  } catch {
    return false;
  }
}

class Fruit {}
class Apple extends Fruit {}

const claims: [received: unknown, matcher: string, ...args: unknown[]][] = [
  [1, "toBe", 1],
  [Number.NaN, "toBe", Number.NaN],
  [0, "toBe", -0],
  [[1], "toBe", [1]],
  [[1, { a: "x" }], "toEqual", [1, { a: "x" }]],
  [[1, { a: "x" }], "toEqual", [1, { a: "y" }]],
  [{ a: 1, b: undefined }, "toEqual", { a: 1 }],
  [{ a: 1 }, "toEqual", { a: 1, b: 2 }],
  [{ a: 1, c: 2 }, "toEqual", { a: 1, b: 2 }],
  [[1, 2], "toEqual", [1]],
  [[0], "toEqual", [-0]],
  [[Number.NaN], "toEqual", [Number.NaN]],
  [Float32Array.of(1, 2), "toEqual", Float32Array.of(1, 2)],
  [Float32Array.of(1, 2), "toEqual", Float32Array.of(1, 3)],
  [Float32Array.of(1), "toEqual", Float64Array.of(1)],
  [Float32Array.of(1), "toEqual", [1]],
  [new Map([["a", [1]]]), "toEqual", new Map([["a", [1]]])],
  [new Map([["a", [1]]]), "toEqual", new Map([["a", [2]]])],
  [new Set([1]), "toEqual", new Set([2])],
  [new Date(5), "toEqual", new Date(5)],
  [new Date(5), "toEqual", new Date(6)],
  [new Error("a"), "toEqual", new Error("a")],
  [new Error("a"), "toEqual", new Error("b")],
  [null, "toEqual", undefined],
  [1.005, "toBeCloseTo", 1],
  [1.004, "toBeCloseTo", 1],
  [1.0004, "toBeCloseTo", 1, 3],
  [1.0006, "toBeCloseTo", 1, 3],
  [Number.POSITIVE_INFINITY, "toBeCloseTo", Number.POSITIVE_INFINITY],
  [Number.NaN, "toBeCloseTo", 1],
  [1, "toBeLessThan", 1],
  [1, "toBeLessThanOrEqual", 1],
  [1, "toBeGreaterThan", 1],
  [1, "toBeGreaterThanOrEqual", 1],
  [Number.NaN, "toBeLessThan", 1],
  [0.5, "toBeLessThan", 1],
  [2, "toBeGreaterThan", 1],
  ["abc", "toContain", "b"],
  ["abc", "toContain", "d"],
  [[1, 2], "toContain", 2],
  [[[1]], "toContain", [1]],
  [new Set(["a"]), "toContain", "a"],
  ["abc", "toHaveLength", 3],
  [[1], "toHaveLength", 2],
  ["abc", "toMatch", /B/i],
  ["abc", "toMatch", "bc"],
  ["abc", "toMatch", "x"],
  [{ a: 1, b: { c: 2, d: 3 } }, "toMatchObject", { a: 1 }],
  [{ a: 1, b: { c: 2, d: 3 } }, "toMatchObject", { b: { c: 2 } }],
  [{ a: 1, b: { c: 2, d: 3 } }, "toMatchObject", { b: { c: 3 } }],
  [{ a: 1 }, "toMatchObject", { b: undefined }],
  [{ a: [1, 2] }, "toMatchObject", { a: [1, 2] }],
  [{ a: [1, 2] }, "toMatchObject", { a: [1] }],
  [new Apple(), "toBeInstanceOf", Fruit],
  [new Fruit(), "toBeInstanceOf", Apple],
  [undefined, "toBeDefined"],
  [null, "toBeDefined"],
  [undefined, "toBeUndefined"],
  [null, "toBeNull"],
  [undefined, "toBeNull"],
  [Number.NaN, "toBeNaN"],
  [1, "toBeNaN"],
  [0, "toBeTruthy"],
  ["x", "toBeTruthy"],
  [0, "toBeFalsy"],
  [() => 1, "toThrow"],
  [() => fail(new Error("a message")), "toThrow"],
  [() => fail(new Error("a message")), "toThrow", "mess"],
  [() => fail(new Error("a message")), "toThrow", "none"],
  [() => fail(new Error("a message")), "toThrow", /^a m/],
  [() => fail(new Error("a message")), "toThrow", /^m/],
  [() => fail(new RangeError("a")), "toThrow", RangeError],
  [() => fail(new TypeError("a")), "toThrow", RangeError],
  [() => fail(new Error("a")), "toThrow", new Error("b")],
];

function fail(error: Error): never {
  throw error;
}

describe("expect under Deno", () => {
  it.each(claims)("judges expect(%s).%s as vitest does", (received, matcher, ...args) => {
    const theirs = holds(() => (expect as unknown as Expect)(received)[matcher]?.(...args));
    const ours = holds(() => (shim as Expect)(received)[matcher]?.(...args));
    expect(ours).toBe(theirs);
    const negated = holds(() =>
      ((shim as Expect)(received).not as unknown as Record<string, (...a: unknown[]) => void>)[matcher]?.(...args),
    );
    expect(negated).toBe(!theirs);
  });

  it("waits for promises", async () => {
    // biome-ignore lint/suspicious/noExplicitAny: the shim is typed by vitest where tests use it.
    const of = shim as any;
    const failed = Promise.reject(new RangeError("too far"));
    await of(failed).rejects.toThrow("too far");
    await of(failed).rejects.toThrow(RangeError);
    await of(failed).rejects.toMatchObject({ message: "too far" });
    await of(Promise.resolve(3)).resolves.toBe(3);
    await expect(of(failed).rejects.toThrow("near")).rejects.toThrow("toThrow('near')");
    await expect(of(Promise.resolve(3)).rejects.toThrow()).rejects.toThrow(
      "expected a promise that rejects, but it resolves with 3",
    );
    await expect(of(failed).resolves.toBe(3)).rejects.toThrow("but it rejects with RangeError: too far");
  });

  it("refuses matchers it does not know", () => {
    // biome-ignore lint/suspicious/noExplicitAny: as above.
    const of = shim as any;
    expect(() => of(1).toSatisfy(() => true)).toThrow(
      "expect(…).toSatisfy is not in test/runtime/expect.ts; add it there.",
    );
    expect(() => of(1).not.toSatisfy(() => true)).toThrow("is not in test/runtime/expect.ts");
    expect(() => of(Promise.resolve(1)).resolves.toSatisfy(() => true)).toThrow("is not in test/runtime/expect.ts");
  });

  it("puts the note before the message", () => {
    expect(() =>
      (shim as (r: unknown, note: string) => Record<string, (x: unknown) => void>)(1, "the count").toBe?.(2),
    ).toThrow("the count: expected 1 toBe(2)");
  });
});
