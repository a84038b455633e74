import { lines, upTo } from "../wgsl_text.ts";
import {
  keyPlaces,
  keysPerStep,
  numberOf,
  ownedVectors,
  readShare,
  type SubgroupVariant,
  subgroupPreamble,
  sumOfLanes,
  vectorWidth,
} from "./subgroup.ts";

/**
 * Attention of single rows over paged keys and values by one subgroup per (row, key head, part of its query heads). The
 * lanes share a key's or value's numbers between them, so each is read once for all heads; a score is the sum over the
 * lanes. Keys come in steps of a fixed size counted from position 0, with a running softmax and one accumulator per
 * output; `attentionOfTiles` takes the same operations in the same order, so a row has the same bits from either.
 * Dispatch: T * KV * (H/KV)/heads workgroups, 2-D past 65535.
 * Source: paging Kwon et al. 2023 (arXiv:2309.06180); online softmax Milakov & Gimelshein 2018 (arXiv:1805.02867).
 */
export function attentionOfRows(v: SubgroupVariant): string {
  return `${subgroupPreamble(v)}
  let table = seq[tile] * dims.max_pages;
  let end = pos[tile] + 1u;
  ${queries(v)}
  for (var j = 0u; j < end; j += ${keysPerStep(v)}u) {
    ${keyPlaces(v)}
    ${readShare(v, "k")}
    ${readShare(v, "v")}
    ${lines(v.heads, (g) => softmaxStep(v, g), "    ")}
  }
  ${stores(v)}
}

fn sum_of_lanes(value: f32) -> f32 {
  ${laneSum(v.lanes)}
}
`;
}

/** Values are exchanged up to 8 lanes and handed out lane by lane above: each is the cheaper there on llvmpipe. */
function laneSum(lanes: number): string {
  if (lanes > 8) return `return ${sumOfLanes(lanes, (l) => `subgroupBroadcast(value, ${l}u)`)};`;
  const steps = [1, 2, 4].filter((mask) => mask < lanes);
  return `var sum = value;
  ${steps.map((mask) => `sum += subgroupShuffleXor(sum, ${mask}u);`).join("\n  ")}
  return sum;`;
}

/**
 * Queries in registers, each with its running softmax. They go through a private array by a loop whose trip count the
 * driver does not know: its compiler takes time with the square of the reads and writes in the text. Vectors that no
 * head has are 0.
 */
function queries(v: SubgroupVariant): string {
  const parts = ownedVectors(v);
  const state = (g: number): string => `var top${g} = LOWEST;
  var total${g} = 0.0;
  ${lines(parts, (t) => `let q${g}_${t} = loaded[${g * parts + t}];\n  var sum${g}_${t} = Part();`)}`;
  return `var loaded: array<Part, ${v.heads * parts}>;
  for (var g = 0u; g < dims.queries; g++) {
    for (var t = 0u; t < dims.parts; t++) {
      let d = lane + t * ${v.lanes}u;
      let query = qkv[tile * dims.row_stride + (first_head + g) * WIDTH + min(d, WIDTH - 1u)];
      loaded[g * ${parts}u + t] = select(Part(), query, d < WIDTH);
    }
  }
  ${lines(v.heads, state)}`;
}

/** One step of head `g`; a key past the end weighs 0. */
function softmaxStep(v: SubgroupVariant, g: number): string {
  const keys = upTo(keysPerStep(v));
  const vectors = upTo(ownedVectors(v));
  const products = (i: number): string =>
    vectors
      .flatMap((t) => upTo(vectorWidth(v)).map((c) => [t, c] as const))
      .reduce((sum, [t, c]) => `fma(${numberOf(v, `q${g}_${t}`, c)}, ${numberOf(v, `k${i}_${t}`, c)}, ${sum})`, "0.0");
  const score = (i: number): string =>
    `let s${i} = select(LOWEST, sum_of_lanes(${products(i)}) * dims.scale, j + ${i}u < end);`;
  const add = (t: number): string =>
    `sum${g}_${t} = ${keys.reduce((sum, i) => `fma(Part(p${i}), v${i}_${t}, ${sum})`, `sum${g}_${t} * fade`)};`;
  return `{
      ${lines(keys.length, score, "      ")}
      let peak = ${keys.reduce((most, i) => `max(${most}, s${i})`, `top${g}`)};
      let fade = exp(top${g} - peak);
      ${lines(keys.length, (i) => `let p${i} = select(0.0, exp(s${i} - peak), j + ${i}u < end);`, "      ")}
      top${g} = peak;
      total${g} = ${keys.reduce((sum, i) => `(${sum} + p${i})`, `total${g} * fade`)};
      ${lines(vectors.length, add, "      ")}
    }`;
}

/** Stores the results through a private array, for the same reason as the queries. */
function stores(v: SubgroupVariant): string {
  const parts = ownedVectors(v);
  const result = (g: number): string => lines(parts, (t) => `results[${g * parts + t}] = sum${g}_${t} / total${g};`);
  return `var results: array<Part, ${v.heads * parts}>;
  ${lines(v.heads, result)}
  for (var g = 0u; g < dims.queries; g++) {
    for (var t = 0u; t < dims.parts; t++) {
      let d = lane + t * ${v.lanes}u;
      if (d < WIDTH) { o[(tile * dims.heads + first_head + g) * WIDTH + d] = results[g * ${parts}u + t]; }
    }
  }`;
}
