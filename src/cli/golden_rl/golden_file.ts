import { z } from "zod";
import { asLeydenError, FormatError } from "../../core/errors.ts";
import { decodeNumbers, difference } from "./compare.ts";

/** One line of `leyden golden`'s report; pass is null for what a file holds and nothing runs. */
export interface GoldenRow {
  file: string;
  check: string;
  /** Cases compared. */
  cases: number;
  /** Largest |a - b| / max(|b|, floor); infinite for a different shape. */
  worst: number;
  tolerance: number;
  pass: boolean | null;
  note: string;
}

/** What one check computes from a case, to be compared with the value under the same name in `expect`. */
export type Check<Case> = (input: Case, expected: unknown) => unknown;

/** How one kind of golden file is run. */
export interface GoldenKind<Case> {
  /** The inputs of a case. */
  inputs: z.ZodType<Case>;
  checks: Readonly<Record<string, Check<Case>>>;
  /** Expectations that stand beside `expect` in the case. */
  beside?: readonly string[];
  /** Below this magnitude differences are absolute. */
  floor: number;
}

/** Keys of a case that describe it and state no expectation. */
const descriptive = new Set(["id", "kind", "expect", "f32_dev"]);

/**
 * Largest scaled difference that passes in float64: the files have 9 significant digits, and verl's 1e-8 in
 * denominators shows most in an exponent (GMPO at a log ratio of 60: 6e-7).
 */
const tolerance = 1e-6;

const fileSchema = z.object({
  name: z.string().optional(),
  cases: z.array(z.looseObject({ id: z.union([z.number(), z.string()]), expect: z.record(z.string(), z.unknown()) })),
});

type RawCase = z.infer<typeof fileSchema>["cases"][number];

/** Result of one check over the cases that expect it. */
class Tally {
  cases = 0;
  worst = 0;
  note = "";

  add(worst: number, note: string): void {
    this.cases++;
    if (worst > this.worst || this.note === "") {
      this.worst = Math.max(worst, this.worst);
      this.note = note;
    }
  }
}

/** @throws FormatError naming the first place that does not fit. */
export function parseGolden<T>(schema: z.ZodType<T>, value: unknown, file: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new FormatError("golden_format", `${file}: ${issue?.path.join(".")}: ${issue?.message}.`, {
    do: "Give a file in the golden format: {format, name, doc, cases: [{id, ...inputs, expect}]}.",
  });
}

/** Name of the file's kind; "" when it states none. */
export function goldenName(json: unknown): string {
  const name = typeof json === "object" && json !== null ? (json as { name?: unknown }).name : undefined;
  return typeof name === "string" ? name : "";
}

function runCheck<Case>(
  kind: GoldenKind<Case>,
  check: string,
  input: Case,
  raw: RawCase,
): { worst: number; note: string } {
  const expected = raw.expect[check];
  try {
    const found = difference((kind.checks[check] as Check<Case>)(input, expected), expected, kind.floor);
    return { worst: found.worst, note: found.worst > tolerance ? `case ${raw.id} at ${found.place || "."}` : "" };
  } catch (thrown) {
    return { worst: Number.POSITIVE_INFINITY, note: `case ${raw.id}: ${asLeydenError(thrown).message}` };
  }
}

/** The case with the expectations that stand beside `expect` moved into it. */
function withExpectations(raw: RawCase, beside: readonly string[]): RawCase {
  const moved = beside.filter((name) => Object.hasOwn(raw, name)).map((name) => [name, raw[name]]);
  return { ...raw, expect: { ...raw.expect, ...Object.fromEntries(moved) } };
}

/** Runs every expectation of a file; one row per name in `expect`, and one for each input that nothing reads. */
export function runGolden<Case>(json: unknown, kind: GoldenKind<Case>, file: string): GoldenRow[] {
  const { cases } = parseGolden(fileSchema, decodeNumbers(json), file);
  const tallies = new Map<string, Tally>();
  const tally = (name: string): Tally => {
    const found = tallies.get(name) ?? new Tally();
    tallies.set(name, found);
    return found;
  };
  const known = new Set(Object.keys(kind.inputs instanceof z.ZodObject ? kind.inputs.shape : {}));
  const unread = new Map<string, number>();
  const beside = new Set(kind.beside);
  for (const found of cases) {
    const raw = withExpectations(found, kind.beside ?? []);
    const input = parseGolden(kind.inputs, raw, `${file} case ${raw.id}`);
    for (const key of Object.keys(raw)) {
      if (!descriptive.has(key) && !known.has(key) && !beside.has(key))
        unread.set(`input ${key}`, (unread.get(`input ${key}`) ?? 0) + 1);
    }
    for (const check of Object.keys(raw.expect)) {
      if (!Object.hasOwn(kind.checks, check)) unread.set(check, (unread.get(check) ?? 0) + 1);
      else {
        const { worst, note } = runCheck(kind, check, input, raw);
        tally(check).add(worst, note);
      }
    }
  }
  const run = [...tallies].map(([check, { cases: n, worst, note }]) => ({
    ...{ file, check, cases: n, worst, tolerance, pass: worst <= tolerance, note },
  }));
  const rest = [...unread].map(([check, n]) => ({
    ...{ file, check, cases: n, worst: 0, tolerance, pass: null, note: "not run" },
  }));
  return [...run, ...rest];
}
