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
 * Attention of tiles of rows over paged keys and values by one subgroup per (tile, key head, part of its query heads), a
 * (row, query head) to a lane. The lanes read a key's or value's numbers together, once for all of them, and hand each
 * number round; a lane keeps its query and its sums in registers. Products are added up as `attentionOfRows` adds them
 * over its lanes, and keys come in the same steps, so a row has the same bits from either, whatever else is in its tile.
 * Keys past a row's own position count 0 even if they hold NaN.
 * Dispatch: tiles * KV * (H/KV)/heads workgroups, 2-D past 65535.
 * Source: paging Kwon et al. 2023 (arXiv:2309.06180); online softmax Milakov & Gimelshein 2018 (arXiv:1805.02867).
 */
export function attentionOfTiles(v: SubgroupVariant): string {
  return `${subgroupPreamble(v)}
  let first = tiles[2u * tile];
  let last = first + tiles[2u * tile + 1u] - 1u;
  let row = min(first + lane / ${v.heads}u, last);
  let head = first_head + lane % ${v.heads}u;
  let table = seq[first] * dims.max_pages;
  let end = pos[last] + 1u;
  let count = pos[row] + 1u;
  ${query(v)}
  var top = LOWEST;
  var total = 0.0;
  ${lines(v.headDim, (d) => `var sum${d} = 0.0;`)}
  for (var j = 0u; j < end; j += ${keysPerStep(v)}u) {
    ${keyPlaces(v)}
    ${readShare(v, "k")}
    ${softmaxStep(v)}
    ${readShare(v, "v")}
    ${lines(v.headDim, (d) => addValue(v, d), "    ")}
  }
  ${store(v)}
}
`;
}

/** Number `d` of a head that lies as vectors in a private array. */
function numberAt(v: SubgroupVariant, array: string, d: number): string {
  const width = vectorWidth(v);
  return numberOf(v, `${array}[${Math.floor(d / width)}]`, d % width);
}

/** This lane's query in registers, through a private array and a loop that the driver does not unroll. */
function query(v: SubgroupVariant): string {
  return `var loaded: array<Part, WIDTH>;
  for (var c = 0u; c < dims.parts; c++) { loaded[c] = qkv[row * dims.row_stride + head * WIDTH + c]; }
  ${lines(v.headDim, (d) => `let q${d} = ${numberAt(v, "loaded", d)};`)}`;
}

/** Number `d` of key or value `i`, from the lane that read it. */
function handedRound(v: SubgroupVariant, name: "k" | "v", i: number, d: number): string {
  const width = vectorWidth(v);
  const vector = Math.floor(d / width);
  const own = numberOf(v, `${name}${i}_${Math.floor(vector / v.lanes)}`, d % width);
  return `subgroupBroadcast(${own}, ${vector % v.lanes}u)`;
}

/**
 * q . k of key `i`: what each lane of `attentionOfRows` holds, added up as it adds. Each begins at a zero that the
 * driver does not know: onto a constant's products it would add the next ones in an order of its own.
 */
function product(v: SubgroupVariant, i: number): string {
  const width = vectorWidth(v);
  const vectors = v.headDim / width;
  const ofLane = (lane: number): string =>
    upTo(ownedVectors(v))
      .map((t) => lane + t * v.lanes)
      .filter((vector) => vector < vectors)
      .flatMap((vector) => upTo(width).map((c) => vector * width + c))
      .reduce((sum, d) => `fma(q${d}, ${handedRound(v, "k", i, d)}, ${sum})`, "dims.zero");
  return sumOfLanes(v.lanes, ofLane);
}

/** Weights `p{i}` of the step's keys, and `fade`, what earlier sums count from now on. */
function softmaxStep(v: SubgroupVariant): string {
  const keys = upTo(keysPerStep(v));
  const score = (i: number): string => `let s${i} = select(LOWEST, ${product(v, i)} * dims.scale, j + ${i}u < count);`;
  return `${lines(keys.length, score, "    ")}
    let peak = ${keys.reduce((most, i) => `max(${most}, s${i})`, "top")};
    let fade = exp(top - peak);
    ${lines(keys.length, (i) => `let p${i} = select(0.0, exp(s${i} - peak), j + ${i}u < count);`, "    ")}
    top = peak;
    total = ${keys.reduce((sum, i) => `(${sum} + p${i})`, "total * fade")};`;
}

function addValue(v: SubgroupVariant, d: number): string {
  const value = (i: number): string => `select(0.0, ${handedRound(v, "v", i, d)}, j + ${i}u < count)`;
  const sum = upTo(keysPerStep(v)).reduce((text, i) => `fma(p${i}, ${value(i)}, ${text})`, `sum${d} * fade`);
  return `sum${d} = ${sum};`;
}

/** Stores the result through a private array, for the same reason as the query. */
function store(v: SubgroupVariant): string {
  return `var result: array<Part, WIDTH>;
  ${lines(v.headDim, (d) => `${numberAt(v, "result", d)} = sum${d} / total;`)}
  if (lane < ${v.rows * v.heads}u && first + lane / ${v.heads}u <= last) {
    for (var c = 0u; c < dims.parts; c++) { o[(row * dims.heads + head) * WIDTH + c] = result[c]; }
  }`;
}
