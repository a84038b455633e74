import type { DType } from "../../core/dtype.ts";
import { component, lines, upTo } from "../wgsl_text.ts";
import type { MatmulForm } from "./problem.ts";

/**
 * What a generated kernel is specialised for. `vectors`: every row of every operand starts at a vec4 and has a whole
 * number of them; else the operands are read one f32 at a time. `tail`: K may not be a multiple of four.
 */
export interface Variant {
  readonly form: MatmulForm;
  readonly vectors: boolean;
  readonly tail: boolean;
  /** Type of b: f32, or packed f16 or i8, which is unpacked as it is read. */
  readonly b: DType;
  readonly bias: boolean;
  readonly residual: boolean;
  /** The accumulators start from c: what gradients of parameters do, whose sums then do not depend on micro-batches. */
  readonly carry: boolean;
}

/** Text of an operand's reads: `setup` goes before the loop over k, `step` into it. */
export interface Reads {
  readonly setup: string;
  readonly step: string;
}

/** The four consecutive k of a step: their indices `at`, and with a tail which of them exist, `live`. */
export function kIndices({ tail }: Variant): string {
  const four = "vec4u(4u * step) + vec4u(0u, 1u, 2u, 3u)";
  return tail
    ? `let k = ${four};
    let at = min(k, vec4u(dims.k - 1u));
    let live = k < vec4u(dims.k);`
    : `let at = ${four};`;
}

/** Row strides of a and b in elements of their arrays, and the number of steps of four k. */
export function strides({ form, vectors }: Variant): string {
  const unit = vectors ? " / 4u" : "";
  return `let lda = dims.a_width${unit};
  let a_first = dims.a_first${unit};
  let ldb = dims.${form[1] === "N" ? "n" : "k"}${unit};
  let steps = (dims.k + 3u) / 4u;`;
}

/** One number of an array, or four. The packed operand is read by a function of its own. */
function read(array: "a" | "b", index: string, vectors: boolean): string {
  if (array === "a") return `a[${index}]`;
  return vectors ? `b_4(${index})` : `b_1(${index})`;
}

/** Four numbers along k of one row that starts at `base`. */
function alongK(array: "a" | "b", base: string, vectors: boolean): string {
  const four = upTo(4).map((q) => read(array, `${base} + at${component(q)}`, false));
  return vectors ? read(array, `${base} + step`, true) : `vec4f(${four.join(", ")})`;
}

/** Four neighbours across k: at k number `q` of the step, from column index `base` (a vec4u when not `vectors`). */
function acrossK(array: "a" | "b", stride: string, base: string, q: number, vectors: boolean): string {
  const row = `at${component(q)} * ${stride}`;
  const four = upTo(4).map((i) => read(array, `${row} + ${base}${component(i)}`, false));
  return vectors ? read(array, `${row} + ${base}`, true) : `vec4f(${four.join(", ")})`;
}

/** A read of a past the end of k counts as 0; b is then read at the last k and needs no mask of its own. */
function masked(value: string, live: string, { tail }: Variant): string {
  return tail ? `select(vec4f(), ${value}, ${live})` : value;
}

function fourBelow(first: string, size: string): string {
  return `min(vec4u(4u * (${first})) + vec4u(0u, 1u, 2u, 3u), vec4u(${size} - 1u))`;
}

/**
 * Reads of a. `slots` are row numbers (forms NN, NT) or numbers of groups of four rows (TN); a slot past the end reads
 * the last row again. Values are named `v{slot}` (four k of a row) or `v{slot}_{q}` (four rows at one k).
 */
export function readsOfA(variant: Variant, slots: readonly string[]): Reads {
  const { form, vectors } = variant;
  if (form[0] === "N") {
    return {
      setup: lines(slots.length, (t) => `let a${t} = min(${slots[t]}, dims.m - 1u) * lda + a_first;`),
      step: lines(
        slots.length,
        (t) => `let v${t} = ${masked(alongK("a", `a${t}`, vectors), "live", variant)};`,
        "    ",
      ),
    };
  }
  const place = (slot: string): string =>
    vectors ? `a_first + min(${slot}, dims.m / 4u - 1u)` : `vec4u(a_first) + ${fourBelow(slot, "dims.m")}`;
  return {
    setup: lines(slots.length, (t) => `let a${t} = ${place(slots[t] as string)};`),
    step: lines(
      slots.length * 4,
      (i) => {
        const value = acrossK("a", "lda", `a${i >> 2}`, i % 4, vectors);
        return `let v${i >> 2}_${i % 4} = ${masked(value, `live${component(i)}`, variant)};`;
      },
      "    ",
    ),
  };
}

/** The value of row `i` of a tile at k number `q`, given by the reads above. */
export function valueOfA({ form }: Variant, i: number, q: number, slot: (group: number) => number): string {
  return form[0] === "N" ? `v${slot(i)}${component(q)}` : `v${slot(i >> 2)}_${q}${component(i)}`;
}

/**
 * Reads of b. `columns` are numbers of groups of four columns; one past the end reads the last columns again. Values
 * are named `w{group}_{q}`: four columns at k number q.
 */
export function readsOfB(variant: Variant, columns: readonly string[]): Reads {
  const { form, vectors } = variant;
  const count = columns.length * 4;
  if (form[1] === "N") {
    const place = (column: string): string => (vectors ? `min(${column}, ldb - 1u)` : fourBelow(column, "dims.n"));
    return {
      setup: lines(columns.length, (j) => `let b${j} = ${place(columns[j] as string)};`),
      step: lines(
        count,
        (i) => `let w${i >> 2}_${i % 4} = ${acrossK("b", "ldb", `b${i >> 2}`, i % 4, vectors)};`,
        "    ",
      ),
    };
  }
  const load = (i: number): string => `let u${i >> 2}_${i % 4} = ${alongK("b", `b${i >> 2}${component(i)}`, vectors)};`;
  const turn = (i: number): string =>
    `let w${i >> 2}_${i % 4} = vec4f(${upTo(4).map((c) => `u${i >> 2}_${c}${component(i)}`)});`;
  return {
    setup: lines(columns.length, (j) => `let b${j} = ${fourBelow(columns[j] as string, "dims.n")} * ldb;`),
    step: `${lines(count, load, "    ")}\n    ${lines(count, turn, "    ")}`,
  };
}
