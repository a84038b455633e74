import { lines, upTo } from "../wgsl_text.ts";
import { accumulate, declarations, putFunction, startTile, storeTile } from "./epilogue.ts";
import { kIndices, readsOfA, readsOfB, strides, type Variant, valueOfA } from "./operands.ts";

/**
 * Product by subgroups, without workgroup memory: C = op(A) op(B) + bias + residual.
 * Tile: `rows` rows x 4 S columns per subgroup of S lanes, which is a whole workgroup. Four k at a time, a lane loads
 * its share of the tile's rows of A and its own four columns of B; each A value then reaches the other lanes by
 * subgroupBroadcast. On software adapters a broadcast costs a fifth of a load, and k innermost lets each accumulator be
 * read and written once per four k.
 * Dispatch: (ceil(N / 4S), ceil(M / rows)).
 */
export function subgroupMatmul(variant: Variant, lanes: number, rows: number): string {
  const transposed = variant.form[0] === "T";
  const groups = transposed ? rows / 4 : rows;
  const first = transposed ? "row / 4u" : "row";
  const slots = upTo(Math.ceil(groups / lanes)).map((t) => `${first} + ${t * lanes}u + lane`);
  const a = readsOfA(variant, slots);
  const b = readsOfB(variant, ["col"]);
  const product = (i: number): string => {
    const lane = (transposed ? i >> 2 : i) % lanes;
    const value = (q: number): string => valueOfA(variant, i, q, (group) => Math.floor(group / lanes));
    const sent = upTo(4).map((q) => `let s${q} = subgroupBroadcast(${value(q)}, ${lane}u);`);
    return `{ ${sent.join(" ")} ${accumulate(i, 0, (q) => `s${q}`)} }`;
  };
  return `enable subgroups;
${declarations(variant)}
${putFunction(variant)}

@compute @workgroup_size(${lanes})
fn main(@builtin(workgroup_id) group: vec3u, @builtin(subgroup_invocation_id) lane: u32) {
  let row = group.y * ${rows}u;
  let col = group.x * ${lanes}u + lane;
  ${strides(variant)}
  ${a.setup}
  ${b.setup}
  ${startTile(variant, rows, 1)}
  for (var step = 0u; step < steps; step++) {
    ${kIndices(variant)}
    ${a.step}
    ${b.step}
    ${lines(rows, product, "    ")}
  }
  ${storeTile(variant, rows, 1)}
}
`;
}
