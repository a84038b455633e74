import { packedReads } from "../packed_reads.ts";
import { lines } from "../wgsl_text.ts";
import type { Variant } from "./operands.ts";

/** Declarations of a generated product kernel: sizes, operands, and what its epilogue adds. */
export function declarations({ vectors, b, bias, residual }: Variant): string {
  const element = vectors ? "vec4f" : "f32";
  const weights = packedReads("b", b, { vectors, binding: 2, scaleBinding: 6 });
  return `struct Dims { m: u32, n: u32, k: u32, add: u32, width: u32, first: u32, a_width: u32, a_first: u32 }
@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> a: array<${element}>;
${weights.declaration}
@group(0) @binding(3) var<storage, read_write> c: array<${element}>;
${bias ? `@group(0) @binding(4) var<storage, read> bias: array<${element}>;` : ""}
${residual ? `@group(0) @binding(5) var<storage, read> residual: array<${element}>;` : ""}
${weights.functions}
`;
}

/**
 * `put(row, col, value)`: writes an element of c, or four of them, with all the epilogue adds. c may be wider than the
 * product, which then fills its columns from `first` on.
 */
export function putFunction({ vectors, bias, residual, carry }: Variant): string {
  const [first, width] = vectors ? ["dims.first / 4u", "(dims.width / 4u)"] : ["dims.first", "dims.width"];
  return `fn place(row: u32, col: u32) -> u32 { return row * ${width} + ${first} + col; }

fn put(row: u32, col: u32, value: ${vectors ? "vec4f" : "f32"}) {
  let at = place(row, col);
  var y = value;
  ${bias ? `y += bias[${first} + col];` : ""}
  ${residual ? "y += residual[at];" : ""}
  ${carry ? "" : "if (dims.add == 1u) { y += c[at]; }"}
  c[at] = y;
}`;
}

/**
 * Declares the accumulators `c{i}_{j}` of the tile with its corner at (`row`, 4 `col`), and `first` and `end` for
 * `storeTile`. A product that carries on starts them from c: a sum over k in several products, one after another, is then
 * the same to the last bit as in one. Others start from 0, for the loads cost the driver's compiler a second.
 */
export function startTile({ vectors, carry }: Variant, rows: number, columns: number): string {
  const unit = vectors ? 1 : 4;
  const value = vectors
    ? `tile[(r - row) * ${columns}u + j - first] = c[place(r, j)];`
    : `tile[(r - row) * ${columns}u + (j - first) / 4u][(j - first) % 4u] = c[place(r, j)];`;
  const declare = (n: number): string =>
    `var c${Math.floor(n / columns)}_${n % columns} = ${carry ? `tile[${n}]` : "vec4f()"};`;
  const load = `for (var r = row; r < end.x; r++) {
    for (var j = first; j < end.y; j++) { ${value} }
  }`;
  return `var tile: array<vec4f, ${rows * columns}>;
  let first = ${unit}u * col;
  let end = vec2u(min(row + ${rows}u, dims.m), min(first + ${unit * columns}u, dims.n${vectors ? " / 4u" : ""}));
  ${carry ? load : ""}
  ${lines(rows * columns, declare)}`;
}

/**
 * Stores the tile of accumulators `c{i}_{j}` (row i, column group j) with its corner at (`row`, 4 `col`). They go through a
 * private array so that one loop serves all rows; the loops' trip counts are hidden from the driver's compiler, which
 * would unroll them (seconds of compiling).
 */
export function storeTile({ vectors }: Variant, rows: number, columns: number): string {
  const slot = (n: number): string => `tile[${n}] = c${Math.floor(n / columns)}_${n % columns};`;
  const value = vectors
    ? `tile[(r - row) * ${columns}u + j - first]`
    : `tile[(r - row) * ${columns}u + (j - first) / 4u][(j - first) % 4u]`;
  return `${lines(rows * columns, slot)}
  for (var r = row; r < end.x; r++) {
    for (var j = first; j < end.y; j++) { put(r, j, ${value}); }
  }`;
}

/** One term of the product for accumulator c{i}_0: four columns `w` at one k. */
export function accumulateAt(i: number, value: string): string {
  return `c${i}_0 = fma(vec4f(${value}), w, c${i}_0);`;
}

/** One step of the product for accumulator c{i}_{j}: four terms in ascending k, so every family rounds alike. */
export function accumulate(i: number, j: number, value: (q: number) => string): string {
  const sum = [0, 1, 2, 3].reduce((acc, q) => `fma(vec4f(${value(q)}), w${j}_${q}, ${acc})`, `c${i}_${j}`);
  return `c${i}_${j} = ${sum};`;
}
