/** Largest scaled difference found, and where. */
export interface Difference {
  worst: number;
  /** Path of the worst place; empty when nothing differs. */
  place: string;
}

function larger(a: Difference, b: Difference): Difference {
  return b.worst > a.worst ? b : a;
}

/** |a - b| / max(|b|, floor); equal infinities and two NaNs differ by 0. */
function numberDifference(actual: number, expected: number, floor: number): number {
  if (Object.is(actual, expected) || actual === expected) return 0;
  const difference = Math.abs(actual - expected) / Math.max(Math.abs(expected), floor);
  return Number.isNaN(difference) ? Number.POSITIVE_INFINITY : difference;
}

function isList(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
}

/**
 * Compares a computed value with the expected JSON: numbers by |a - b| / max(|b|, floor), everything else exactly; a
 * different length, a missing key or another type is an infinite difference.
 */
export function difference(actual: unknown, expected: unknown, floor: number, place = ""): Difference {
  const none: Difference = { worst: 0, place: "" };
  if (typeof expected === "number" && typeof actual === "number") {
    return { worst: numberDifference(actual, expected, floor), place };
  }
  if (isList(expected) && isList(actual)) {
    if (expected.length !== actual.length) return { worst: Number.POSITIVE_INFINITY, place: `${place}.length` };
    let worst = none;
    for (let i = 0; i < expected.length; i++) {
      worst = larger(worst, difference(actual[i], expected[i], floor, `${place}[${i}]`));
    }
    return worst;
  }
  if (typeof expected === "object" && expected !== null && typeof actual === "object" && actual !== null) {
    let worst = none;
    for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
      const [a, e] = [(actual as Record<string, unknown>)[key], (expected as Record<string, unknown>)[key]];
      worst = larger(worst, difference(a, e, floor, `${place}.${key}`));
    }
    return worst;
  }
  return Object.is(actual, expected) ? none : { worst: Number.POSITIVE_INFINITY, place };
}

/** Replaces the strings "nan", "inf" and "-inf" of the golden format by the numbers that they stand for. */
export function decodeNumbers(value: unknown): unknown {
  if (value === "nan") return Number.NaN;
  if (value === "inf") return Number.POSITIVE_INFINITY;
  if (value === "-inf") return Number.NEGATIVE_INFINITY;
  if (Array.isArray(value)) return value.map(decodeNumbers);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, decodeNumbers(item)]));
}
