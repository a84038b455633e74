import { component, lines, upTo } from "../wgsl_text.ts";

/** What a subgroup kernel of paged attention is specialised for. */
export interface SubgroupVariant {
  readonly headDim: number;
  /** Subgroup width, which is the workgroup's size. */
  readonly lanes: number;
  /** Query heads that a subgroup computes with one reading of their common key head. */
  readonly heads: number;
  /** Query rows that share a reading of the keys: 1, or up to this many consecutive positions of one sequence. */
  readonly rows: number;
  /** How pages hold numbers. */
  readonly format: "f32" | "f16";
}

/**
 * Numbers of a head that are read as one vector: as many as leave every lane one, so that long subgroups are not idle
 * over short heads. Pairs at least where pages hold pairs.
 */
export function vectorWidth({ headDim, lanes, format }: Pick<SubgroupVariant, "headDim" | "lanes" | "format">): number {
  const least = format === "f16" ? 2 : 1;
  const whole = [4, 2, 1].filter((width) => headDim % width === 0 && width >= least);
  return whole.find((width) => headDim / width >= lanes) ?? (whole.at(-1) as number);
}

/** Vectors of a head that one lane owns at most: vector c of a head belongs to lane c % lanes. */
export function ownedVectors(variant: SubgroupVariant): number {
  return Math.ceil(variant.headDim / vectorWidth(variant) / variant.lanes);
}

/** Keys of one softmax step. It divides the page, so a step's keys lie together. */
function keysPerStep(variant: SubgroupVariant): number {
  return ownedVectors(variant) <= 2 ? 4 : ownedVectors(variant) <= 4 ? 2 : 1;
}

/**
 * Attention over paged keys and values by one subgroup per (tile of query rows, key head, part of its query heads).
 * The lanes share a key's or value's numbers between them, so each is read once for all rows and heads of the tile; a
 * score is the sum over the lanes. Keys come in steps of a fixed size counted from position 0, with a running softmax
 * and one accumulator per output, whatever else is in the tile: a row's result has the same bits alone, batched or
 * chunked. Keys past a row's own position count 0 even if they hold NaN.
 * Dispatch: tiles * KV * (H/KV)/heads workgroups, 2-D past 65535.
 * Source: paging Kwon et al. 2023 (arXiv:2309.06180); online softmax Milakov & Gimelshein 2018 (arXiv:1805.02867).
 */
export function subgroupPagedAttention(v: SubgroupVariant): string {
  const width = vectorWidth(v);
  const part = width === 1 ? "f32" : `vec${width}f`;
  const stored = v.format === "f32" ? part : width === 4 ? "vec2u" : "u32";
  const rowsOfTile = v.rows > 1 ? "@group(0) @binding(8) var<storage, read> tiles: array<u32>;" : "";
  return `enable subgroups;
struct Dims {
  tiles: u32, heads: u32, kv_heads: u32, row_stride: u32, max_pages: u32, scale: f32, head_parts: u32,
  queries: u32, parts: u32
}
alias Part = ${part};
alias Stored = ${stored};
const PAGE = 16u;
const WIDTH = ${v.headDim / width}u;
const LOWEST = -3.4028234e38;

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> qkv: array<Part>;
@group(0) @binding(2) var<storage, read> k_pages: array<Stored>;
@group(0) @binding(3) var<storage, read> v_pages: array<Stored>;
@group(0) @binding(4) var<storage, read> pages: array<u32>;
@group(0) @binding(5) var<storage, read> seq: array<u32>;
@group(0) @binding(6) var<storage, read> pos: array<u32>;
@group(0) @binding(7) var<storage, read_write> o: array<Part>;
${rowsOfTile}

fn part_of(stored: Stored) -> Part {
  return ${v.format === "f32" ? "stored" : unpacked(width)};
}
${dotFunction(width)}
${laneSum(v.lanes)}

@compute @workgroup_size(${v.lanes})
fn attend(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
          @builtin(subgroup_invocation_id) lane: u32) {
  let item = group.y * groups.x + group.x;
  let kv_parts = dims.kv_heads * dims.head_parts;
  let tile = item / kv_parts;
  if (tile >= dims.tiles) { return; }
  let kv_head = (item % kv_parts) / dims.head_parts;
  let first_head = (item % kv_parts) * ${v.heads}u;
  ${v.rows > 1 ? "let first = tiles[2u * tile];\n  let last = first + tiles[2u * tile + 1u] - 1u;" : "let first = tile;\n  let last = tile;"}
  let table = seq[first] * dims.max_pages;
  let end = pos[last] + 1u;
  let key_stride = dims.kv_heads * WIDTH;
  ${lines(ownedVectors(v), (t) => `let d${t} = min(lane + ${t * v.lanes}u, WIDTH - 1u);\n  let own${t} = lane + ${t * v.lanes}u < WIDTH;`)}
  ${queries(v)}
  for (var j = 0u; j < end; j += ${keysPerStep(v)}u) {
    let slot = pages[table + j / PAGE] * PAGE + j % PAGE;
    let most = min(${keysPerStep(v)}u, end - j) - 1u;
    ${keyReads(v)}
    ${lines(v.rows, (r) => rowStep(v, r), "    ")}
  }
  ${stores(v)}
}
`;
}

function unpacked(width: number): string {
  return width === 4 ? "vec4f(unpack2x16float(stored.x), unpack2x16float(stored.y))" : "unpack2x16float(stored)";
}

/** Products in ascending order onto one accumulator. */
function dotFunction(width: number): string {
  const sum = upTo(width).reduce((acc, i) => `fma(a${component(i)}, b${component(i)}, ${acc})`, "sum");
  return `fn dot_part(a: Part, b: Part, sum: f32) -> f32 { return ${width === 1 ? "fma(a, b, sum)" : sum}; }`;
}

/**
 * Sum over the lanes, in every lane. On llvmpipe exchanging values is cheaper than subgroupAdd for up to 8 lanes, and
 * far dearer for 16 (test/bench/LOG.md).
 */
function laneSum(lanes: number): string {
  if (lanes > 8) return "fn sum_of_lanes(value: f32) -> f32 { return subgroupAdd(value); }";
  const steps = [1, 2, 4].filter((mask) => mask < lanes);
  return `fn sum_of_lanes(value: f32) -> f32 {
  var sum = value;
  ${steps.map((mask) => `sum += subgroupShuffleXor(sum, ${mask}u);`).join("\n  ")}
  return sum;
}`;
}

/** The query head's place in a row and the row of query number `n` of the tile. */
const queryPlace = (heads: number): string =>
  `let row = min(first + n / ${heads}u, last);
    let head = first_head + n % ${heads}u;`;

/**
 * Queries in registers, each with its running softmax. They go through a private array by a loop whose trip count the
 * driver does not know: its compiler takes time with the square of the reads and writes in the text. Vectors that no
 * head has are 0.
 */
function queries(v: SubgroupVariant): string {
  const parts = ownedVectors(v);
  const state = (n: number): string => {
    const name = `${Math.floor(n / v.heads)}_${n % v.heads}`;
    return `var top${name} = LOWEST;
  var total${name} = 0.0;
  ${lines(parts, (t) => `let q${name}_${t} = loaded[${n * parts + t}];\n  var sum${name}_${t} = Part();`)}`;
  };
  const count = (r: number): string => `let count${r} = ${v.rows > 1 ? `pos[min(first + ${r}u, last)] + 1u` : "end"};`;
  return `var loaded: array<Part, ${v.rows * v.heads * parts}>;
  for (var n = 0u; n < dims.queries; n++) {
    ${queryPlace(v.heads)}
    for (var t = 0u; t < dims.parts; t++) {
      let d = lane + t * ${v.lanes}u;
      let query = qkv[row * dims.row_stride + head * WIDTH + min(d, WIDTH - 1u)];
      loaded[n * ${parts}u + t] = select(Part(), query, d < WIDTH);
    }
  }
  ${lines(v.rows, count)}
  ${lines(v.rows * v.heads, state)}`;
}

/** This lane's share of the step's keys and values; a key past the end is the last one again. */
function keyReads(v: SubgroupVariant): string {
  const address = (j: number): string => `let at${j} = (slot + min(${j}u, most)) * key_stride + kv_head * WIDTH;`;
  const read = (n: number): string => {
    const [j, t] = [Math.floor(n / ownedVectors(v)), n % ownedVectors(v)];
    return `let k${j}_${t} = part_of(k_pages[at${j} + d${t}]);\n    let v${j}_${t} = part_of(v_pages[at${j} + d${t}]);`;
  };
  return `${lines(keysPerStep(v), address, "    ")}
    ${lines(keysPerStep(v) * ownedVectors(v), read, "    ")}`;
}

/** One softmax step of row `r`. */
function rowStep(v: SubgroupVariant, r: number): string {
  const keys = upTo(keysPerStep(v));
  const seen = (j: number): string => `j + ${j}u < count${r}`;
  const value = (j: number, t: number): string => (v.rows > 1 ? `x${j}_${t}` : `v${j}_${t}`);
  const values = keys.flatMap((j) =>
    upTo(ownedVectors(v)).map((t) => `let x${j}_${t} = select(Part(), v${j}_${t}, ${seen(j)});`),
  );
  const head = (g: number): string => {
    const dot = (j: number): string =>
      upTo(ownedVectors(v)).reduce((acc, t) => `dot_part(q${r}_${g}_${t}, k${j}_${t}, ${acc})`, "0.0");
    const peak = keys.reduce((acc, j) => `max(${acc}, s${j})`, `top${r}_${g}`);
    const add = (t: number): string =>
      `sum${r}_${g}_${t} = ${keys.reduce((acc, j) => `fma(Part(p${j}), ${value(j, t)}, ${acc})`, `sum${r}_${g}_${t} * fade`)};`;
    return `{
        ${keys.map((j) => `let s${j} = select(LOWEST, sum_of_lanes(${dot(j)}) * dims.scale, ${seen(j)});`).join("\n        ")}
        let peak = ${peak};
        let fade = exp(top${r}_${g} - peak);
        ${keys.map((j) => `let p${j} = select(0.0, exp(s${j} - peak), ${seen(j)});`).join("\n        ")}
        top${r}_${g} = peak;
        total${r}_${g} = ${keys.reduce((acc, j) => `(${acc} + p${j})`, `total${r}_${g} * fade`)};
        ${lines(ownedVectors(v), add, "        ")}
      }`;
  };
  const body = `${v.rows > 1 ? values.join("\n      ") : ""}
      ${lines(v.heads, head, "      ")}`;
  return v.rows > 1 ? `if (j < count${r}) {\n      ${body}\n    }` : body;
}

/** Stores the results through a private array, for the same reason as the queries. */
function stores(v: SubgroupVariant): string {
  const parts = ownedVectors(v);
  const result = (n: number): string => {
    const name = `${Math.floor(n / v.heads)}_${n % v.heads}`;
    return lines(parts, (t) => `results[${n * parts + t}] = sum${name}_${t} / total${name};`);
  };
  return `var results: array<Part, ${v.rows * v.heads * parts}>;
  ${lines(v.rows * v.heads, result)}
  for (var n = 0u; n < dims.queries && first + n / ${v.heads}u <= last; n++) {
    ${queryPlace(v.heads)}
    for (var t = 0u; t < dims.parts; t++) {
      let d = lane + t * ${v.lanes}u;
      if (d < WIDTH) { o[(row * dims.heads + head) * WIDTH + d] = results[n * ${parts}u + t]; }
    }
  }`;
}
