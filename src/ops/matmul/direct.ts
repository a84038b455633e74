import { lines, upTo } from "../wgsl_text.ts";
import { accumulate, declarations, putFunction, startTile, storeTile } from "./epilogue.ts";
import { kIndices, readsOfA, readsOfB, strides, type Variant, valueOfA } from "./operands.ts";

/** Register tile of one invocation: `rows` x 4 `columns`; `threads` invocations side by side along N. */
export interface DirectTile {
  readonly rows: number;
  readonly columns: number;
  readonly threads: number;
}

/**
 * Product by a register tile per invocation, straight from storage, without subgroups or workgroup memory:
 * C = op(A) op(B) + bias + residual. With one row this is the matrix-vector kernel of decoding.
 * Dispatch: (ceil(N / (4 columns threads)), ceil(M / rows)).
 */
export function directMatmul(variant: Variant, { rows, columns, threads }: DirectTile): string {
  const transposed = variant.form[0] === "T";
  const slots = upTo(transposed ? rows / 4 : rows).map((t) => `${transposed ? "row / 4u" : "row"} + ${t}u`);
  const cols = upTo(columns).map((j) => `col + ${j}u`);
  const a = readsOfA(variant, slots);
  const b = readsOfB(variant, cols);
  const product = (n: number): string => {
    const i = Math.floor(n / columns);
    return accumulate(i, n % columns, (q) => valueOfA(variant, i, q, (group) => group));
  };
  return `${declarations(variant)}
${putFunction(variant)}

@compute @workgroup_size(${threads})
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
  let row = group.y * ${rows}u;
  let col = (group.x * ${threads}u + thread) * ${columns}u;
  ${strides(variant)}
  ${a.setup}
  ${b.setup}
  ${startTile(variant, rows, columns)}
  for (var step = 0u; step < steps; step++) {
    ${kIndices(variant)}
    ${a.step}
    ${b.step}
    ${lines(rows * columns, product, "    ")}
  }
  ${storeTile(variant, rows, columns)}
}
`;
}
