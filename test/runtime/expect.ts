/**
 * `expect` for device tests under Deno, where vitest does not run: the matchers those tests use, with vitest's meaning.
 * An unknown matcher is an error that says so, never a silent pass.
 */
import { inspect } from "node:util";

type Constructor = abstract new (...args: never[]) => unknown;
type ThrowExpectation = string | RegExp | Constructor | Error | undefined;

class AssertionError extends Error {}

function isObject(value: unknown): value is Record<PropertyKey, unknown> {
  return typeof value === "object" && value !== null;
}

function definedKeys(value: object): string[] {
  return Object.keys(value).filter((key) => (value as Record<string, unknown>)[key] !== undefined);
}

function equalElements(a: ArrayLike<unknown>, b: ArrayLike<unknown>): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!equal(a[i], b[i])) return false;
  return true;
}

/** Deep equality as toEqual has it: undefined properties do not count, -0 is not 0, NaN is NaN. */
function equal(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (!isObject(a) || !isObject(b)) return false;
  if (Object.prototype.toString.call(a) !== Object.prototype.toString.call(b)) return false;
  if (Array.isArray(a) || (ArrayBuffer.isView(a) && !(a instanceof DataView))) {
    return equalElements(a as unknown as ArrayLike<unknown>, b as unknown as ArrayLike<unknown>);
  }
  if (a instanceof Date) return a.getTime() === (b as unknown as Date).getTime();
  if (a instanceof Map || a instanceof Set) return equalElements([...a], [...(b as unknown as Set<unknown>)]);
  if (a instanceof Error) return a.message === (b as unknown as Error).message;
  const keys = definedKeys(a);
  return keys.length === definedKeys(b).length && keys.every((key) => equal(a[key], b[key]));
}

/** True when `received` has every property of `part`, at every depth; arrays must match whole. */
function matchesPart(received: unknown, part: unknown): boolean {
  if (!isObject(part) || !isObject(received) || Object.getPrototypeOf(part) !== Object.prototype)
    return equal(received, part);
  return Object.keys(part).every((key) => key in received && matchesPart(received[key], part[key]));
}

function contains(received: unknown, item: unknown): boolean {
  if (typeof received === "string") return received.includes(String(item));
  return [...(received as Iterable<unknown>)].includes(item);
}

function matchesThrown(thrown: unknown, expected: ThrowExpectation): boolean {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  if (expected === undefined) return true;
  if (typeof expected === "string") return message.includes(expected);
  if (expected instanceof RegExp) return expected.test(message);
  if (expected instanceof Error) return message === expected.message;
  return thrown instanceof expected;
}

/** Each matcher: does `received` satisfy it? */
const matchers = {
  toBe: (received: unknown, expected: unknown) => Object.is(received, expected),
  toEqual: equal,
  toBeCloseTo: (received: number, expected: number, digits = 2) =>
    received === expected || Math.abs(received - expected) < 10 ** -digits / 2,
  toBeLessThan: (received: number, bound: number) => received < bound,
  toBeLessThanOrEqual: (received: number, bound: number) => received <= bound,
  toBeGreaterThan: (received: number, bound: number) => received > bound,
  toBeGreaterThanOrEqual: (received: number, bound: number) => received >= bound,
  toContain: contains,
  toHaveLength: (received: { length: number }, length: number) => received.length === length,
  toMatch: (received: string, pattern: string | RegExp) =>
    typeof pattern === "string" ? received.includes(pattern) : pattern.test(received),
  toMatchObject: matchesPart,
  toBeInstanceOf: (received: unknown, type: Constructor) => received instanceof type,
  toBeDefined: (received: unknown) => received !== undefined,
  toBeUndefined: (received: unknown) => received === undefined,
  toBeNull: (received: unknown) => received === null,
  toBeNaN: (received: unknown) => Number.isNaN(received),
  toBeTruthy: (received: unknown) => Boolean(received),
  toBeFalsy: (received: unknown) => !received,
} as const;

type Matcher = (received: never, ...expected: never[]) => boolean;

function verify(
  name: string,
  negated: boolean,
  passed: boolean,
  received: unknown,
  expected: readonly unknown[],
  note?: string,
) {
  if (passed !== negated) return;
  const shown = expected.map((value) => inspect(value)).join(", ");
  const claim = `expected ${inspect(received)} ${negated ? "not " : ""}${name}(${shown})`;
  throw new AssertionError(note === undefined ? claim : `${note}: ${claim}`);
}

function throwingMatcher(received: unknown, negated: boolean, note?: string) {
  return (expected?: ThrowExpectation) => {
    if (typeof received !== "function") throw new AssertionError("toThrow needs a function");
    let thrown: unknown;
    let didThrow = false;
    try {
      received();
    } catch (error) {
      thrown = error;
      didThrow = true;
    }
    verify("toThrow", negated, didThrow && matchesThrown(thrown, expected), thrown ?? "no error", [expected], note);
  };
}

function assertions(received: unknown, negated: boolean, note?: string): object {
  const known: Record<string, unknown> = { toThrow: throwingMatcher(received, negated, note) };
  for (const [name, matcher] of Object.entries(matchers) as unknown as [string, Matcher][]) {
    known[name] = (...expected: unknown[]) =>
      verify(name, negated, matcher(received as never, ...(expected as never[])), received, expected, note);
  }
  return known;
}

/** The matchers on what a promise settles to. */
function settled(promise: unknown, want: "resolves" | "rejects", negated: boolean, note?: string): object {
  const outcome = async () => {
    try {
      return { kind: "resolves", value: await promise } as const;
    } catch (error) {
      return { kind: "rejects", value: error } as const;
    }
  };
  return guarded(assertions(undefined, negated), (name) => async (...expected: unknown[]) => {
    const { kind, value } = await outcome();
    if (kind !== want)
      throw new AssertionError(`expected a promise that ${want}, but it ${kind} with ${inspect(value)}`);
    if (name === "toThrow")
      return verify(name, negated, matchesThrown(value, expected[0] as ThrowExpectation), value, expected, note);
    const check = (assertions(value, negated, note) as Record<string, (...args: unknown[]) => void>)[name];
    return check?.(...expected);
  });
}

/** An object whose unknown members throw; `wrap` replaces the known ones. */
function guarded(known: object, wrap?: (name: string) => unknown): object {
  return new Proxy(known, {
    get(target, name) {
      const own = Reflect.get(target, name);
      if (own !== undefined) return typeof own === "function" && wrap ? wrap(String(name)) : own;
      throw new AssertionError(`expect(…).${String(name)} is not in test/runtime/expect.ts; add it there.`);
    },
  });
}

/** Claims about `received`; `note` goes before the message of a failure. */
export function expect(received: unknown, note?: string): unknown {
  const plain = (negated: boolean) => ({
    ...assertions(received, negated, note),
    resolves: settled(received, "resolves", negated, note),
    rejects: settled(received, "rejects", negated, note),
  });
  return guarded({ ...plain(false), not: guarded(plain(true)) });
}
