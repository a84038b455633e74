import { lines } from "../wgsl_text.ts";
import { accumulateAt, declarations, putFunction, startTile, storeTile } from "./epilogue.ts";
import type { Variant } from "./operands.ts";

/** A tile of `rows` x `columns` outputs, of which each invocation owns `perThread` rows x 4 columns. */
export interface WorkgroupTile {
  readonly rows: number;
  readonly columns: number;
  readonly perThread: number;
}

/** k that are in workgroup memory at a time. */
const depth = 16;

/**
 * Product by tiles in workgroup memory, for GPUs: C = op(A) op(B) + bias + residual. The invocations of a workgroup load
 * 16 k of the tile's rows of A and columns of B together, number by number, neighbours reading neighbouring words, and
 * each keeps its outputs in registers. Any sizes: what lies outside counts as 0 and is not written. One word of padding
 * keeps the columns of a tile in different banks.
 * Dispatch: (ceil(N / columns), ceil(M / rows)).
 */
export function workgroupMatmul(asked: Variant, { rows, columns, perThread }: WorkgroupTile): string {
  const variant: Variant = { ...asked, vectors: false };
  const { form } = variant;
  const [across, down] = [columns / 4, rows / perThread];
  const product = (i: number): string => accumulateAt(i, `a_tile[q * ${rows + 1}u + in_rows + ${i}u]`);
  return `${declarations(variant)}
${putFunction(variant)}

var<workgroup> a_tile: array<f32, ${depth * (rows + 1)}>;
var<workgroup> b_tile: array<f32, ${depth * (columns + 1)}>;

fn a_value(row: u32, k: u32) -> f32 {
  if (row >= dims.m || k >= dims.k) { return 0.0; }
  return a[${form[0] === "T" ? "k * dims.a_width + dims.a_first + row" : "row * dims.a_width + dims.a_first + k"}];
}

fn b_value(col: u32, k: u32) -> f32 {
  if (col >= dims.n || k >= dims.k) { return 0.0; }
  return b_1(${form[1] === "T" ? "col * dims.k + k" : "k * dims.n + col"});
}

@compute @workgroup_size(${across}, ${down})
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let in_rows = local.y * ${perThread}u;
  let row = group.y * ${rows}u + in_rows;
  let col = group.x * ${across}u + local.x;
  ${startTile(variant, perThread, 1)}
  for (var k = 0u; k < dims.k; k += ${depth}u) {
    ${loadTile("a", `group.y * ${rows}u`, rows, form[0] === "N", across * down)}
    ${loadTile("b", `group.x * ${columns}u`, columns, form[1] === "T", across * down)}
    workgroupBarrier();
    for (var q = 0u; q < ${depth}u; q++) {
      let at = q * ${columns + 1}u + 4u * local.x;
      let w = vec4f(b_tile[at], b_tile[at + 1u], b_tile[at + 2u], b_tile[at + 3u]);
      ${lines(perThread, product, "      ")}
    }
    workgroupBarrier();
  }
  ${storeTile(variant, perThread, 1)}
}
`;
}

/** Loads `width` rows or columns from `first` on; `alongK`: their neighbouring words in memory are neighbours in k. */
function loadTile(name: "a" | "b", first: string, width: number, alongK: boolean, threads: number): string {
  const at = alongK ? `vec2u(i / ${depth}u, i % ${depth}u)` : `vec2u(i % ${width}u, i / ${width}u)`;
  return `for (var i = thread; i < ${width * depth}u; i += ${threads}u) {
      let at = ${at};
      ${name}_tile[at.y * ${width + 1}u + at.x] = ${name}_value(${first} + at.x, k + at.y);
    }`;
}
