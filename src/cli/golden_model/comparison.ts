import type { GoldenRow } from "../golden_rl/golden_file.ts";
import type { TensorSummary } from "./model_golden.ts";

/** Largest deviation of a check, over how many numbers, and where. */
export interface Deviation {
  worst: number;
  cases: number;
  place: string;
}

/** Normative tolerances of the golden models for float32. Source: the goldens' README. */
export const tolerances = {
  logits: 2e-4,
  logprob: 1e-4,
  loss: 1e-3,
  gradient: 1e-3,
  parameters: 2e-4,
} as const;

/** Largest |got - want|; a different length or a NaN is infinite. */
export function absoluteDeviation(got: ArrayLike<number>, want: ArrayLike<number>, place = ""): Deviation {
  if (got.length !== want.length) {
    return { worst: Number.POSITIVE_INFINITY, cases: want.length, place: `${place} length ${got.length}`.trim() };
  }
  let worst = 0;
  let at = -1;
  for (let i = 0; i < want.length; i++) {
    const difference = Math.abs((got[i] as number) - (want[i] as number));
    // A NaN is never at most anything: it passes here and is the worst.
    if (difference <= worst) continue;
    worst = Number.isNaN(difference) ? Number.POSITIVE_INFINITY : difference;
    at = i;
  }
  return { worst, cases: want.length, place: at < 0 ? place : `${place}[${at}]` };
}

/** |got - want| / max(|want|, floor). */
export function relativeDeviation(got: number, want: number, floor = 0): Deviation {
  const worst = Math.abs(got - want) / Math.max(Math.abs(want), floor, Number.MIN_VALUE);
  return { worst: Number.isNaN(worst) ? Number.POSITIVE_INFINITY : worst, cases: 1, place: "" };
}

/** The largest of several deviations, over all their numbers. */
export function worstOf(deviations: readonly Deviation[]): Deviation {
  const cases = deviations.reduce((n, d) => n + d.cases, 0);
  const worst = deviations.reduce((a, b) => (b.worst > a.worst ? b : a), { worst: 0, cases: 0, place: "" });
  return { ...worst, cases };
}

/** l2 norm. */
export function norm(values: Iterable<number>): number {
  let sum = 0;
  for (const v of values) sum += v * v;
  return Math.sqrt(sum);
}

/**
 * Closeness of a gradient to its summary: the l2 norm of what can be compared (all entries, or those listed, the norm
 * itself and both sums), over max(l2 of the tensor, 1e-3 of the global norm).
 */
export function gradientDeviation(name: string, got: Float32Array, want: TensorSummary, globalNorm: number): Deviation {
  const size = want.shape.reduce((a, b) => a * b, 1);
  if (size !== got.length) return { worst: Number.POSITIVE_INFINITY, cases: size, place: `${name} size ${got.length}` };
  const scale = Math.max(want.l2, 1e-3 * globalNorm, Number.MIN_VALUE);
  const entries = want.full ?? want.val;
  const entry = (i: number): number => got[want.full === undefined ? (want.idx[i] as number) : i] as number;
  let sum = 0;
  let absSum = 0;
  for (const v of got) {
    sum += v;
    absSum += Math.abs(v);
  }
  const parts = {
    l2: Math.abs(norm(got) - want.l2),
    entries: norm(entries.map((e, i) => entry(i) - e)),
    // A difference of norm d moves a sum of n terms by at most sqrt(n) d.
    sum: Math.abs(sum - want.sum) / Math.sqrt(size),
    absSum: Math.abs(absSum - want.abs_sum) / Math.sqrt(size),
  };
  const [part, worst] = Object.entries(parts).reduce((a, b) => (b[1] > a[1] || Number.isNaN(b[1]) ? b : a));
  return {
    worst: Number.isNaN(worst) ? Number.POSITIVE_INFINITY : worst / scale,
    cases: size,
    place: `${name} ${part}`,
  };
}

/** Largest absolute deviation of parameters: of all entries or those listed, and of the l2 norm per root of the size. */
export function parameterDeviation(name: string, got: Float32Array, want: TensorSummary): Deviation {
  const size = want.shape.reduce((a, b) => a * b, 1);
  if (size !== got.length) return { worst: Number.POSITIVE_INFINITY, cases: size, place: `${name} size ${got.length}` };
  const entries =
    want.full === undefined
      ? absoluteDeviation(
          want.idx.map((i) => got[i] as number),
          want.val,
          name,
        )
      : absoluteDeviation(got, want.full, name);
  const l2 = { worst: Math.abs(norm(got) - want.l2) / Math.sqrt(size), cases: size, place: `${name} l2` };
  return { ...(l2.worst > entries.worst ? l2 : entries), cases: size };
}

/** One line of the report. */
export function goldenRow(file: string, check: string, deviation: Deviation, tolerance: number, note = ""): GoldenRow {
  const pass = deviation.worst <= tolerance;
  const where = pass || deviation.place === "" ? "" : `worst at ${deviation.place}`;
  return {
    file,
    check,
    cases: deviation.cases,
    worst: deviation.worst,
    tolerance,
    pass,
    note: [note, where].filter((s) => s !== "").join("; "),
  };
}

/** A line for what is there and cannot be run. */
export function uncheckedRow(file: string, check: string, note: string): GoldenRow {
  return { file, check, cases: 0, worst: 0, tolerance: 0, pass: null, note };
}
