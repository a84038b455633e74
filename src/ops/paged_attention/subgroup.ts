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

/** Vectors of a head that one lane reads at most: vector c of a head belongs to lane c % lanes. */
export function ownedVectors(variant: SubgroupVariant): number {
  return Math.ceil(variant.headDim / vectorWidth(variant) / variant.lanes);
}

/** Keys of one softmax step: fewer where each takes much text. It divides the page, so a step's keys lie together. */
export function keysPerStep({ headDim }: SubgroupVariant): number {
  return headDim <= 64 ? 4 : headDim <= 128 ? 2 : 1;
}

/**
 * The sum of what the lanes hold, `term(l)` for lane l: neighbours first, then neighbours of those. Spelled out instead of
 * left to subgroupAdd, whose order is the driver's, so that one row and a tile of rows add alike.
 */
export function sumOfLanes(lanes: number, term: (lane: number) => string): string {
  let terms = upTo(lanes).map(term);
  while (terms.length > 1) {
    terms = upTo(terms.length / 2).map((i) => `(${terms[2 * i]} + ${terms[2 * i + 1]})`);
  }
  return terms[0] as string;
}

/** Types, bindings and the place of this workgroup: tile, key head, first query head. */
export function subgroupPreamble(v: SubgroupVariant): string {
  const width = vectorWidth(v);
  const part = width === 1 ? "f32" : `vec${width}f`;
  const stored = v.format === "f32" ? part : width === 4 ? "vec2u" : "u32";
  return `enable subgroups;
struct Dims {
  tiles: u32, heads: u32, kv_heads: u32, row_stride: u32, max_pages: u32, scale: f32, head_parts: u32, parts: u32,
  queries: u32, zero: f32
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
${v.rows > 1 ? "@group(0) @binding(8) var<storage, read> tiles: array<u32>;" : ""}

fn part_of(stored: Stored) -> Part { return ${partOf(v)}; }

@compute @workgroup_size(${v.lanes})
fn attend(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
          @builtin(subgroup_invocation_id) lane: u32) {
  let item = group.y * groups.x + group.x;
  let kv_parts = dims.kv_heads * dims.head_parts;
  let tile = item / kv_parts;
  if (tile >= dims.tiles) { return; }
  let kv_head = (item % kv_parts) / dims.head_parts;
  let first_head = (item % kv_parts) * ${v.heads}u;
  let key_stride = dims.kv_heads * WIDTH;`;
}

function partOf(v: SubgroupVariant): string {
  if (v.format === "f32") return "stored";
  const four = "vec4f(unpack2x16float(stored.x), unpack2x16float(stored.y))";
  return vectorWidth(v) === 4 ? four : "unpack2x16float(stored)";
}

/** Where a step's keys lie; a key past the end is the last one again. */
export function keyPlaces(v: SubgroupVariant): string {
  const step = keysPerStep(v);
  return `let slot = pages[table + j / PAGE] * PAGE + j % PAGE;
    let most = min(${step}u, end - j) - 1u;
    ${lines(step, (i) => `let at${i} = (slot + min(${i}u, most)) * key_stride + kv_head * WIDTH;`, "    ")}`;
}

/** This lane's share of the step's keys or values: vectors `{name}{key}_{t}`. */
export function readShare(v: SubgroupVariant, name: "k" | "v"): string {
  const read = (i: number) => (t: number) =>
    `let ${name}${i}_${t} = part_of(${name}_pages[at${i} + min(lane + ${t * v.lanes}u, WIDTH - 1u)]);`;
  return lines(keysPerStep(v), (i) => lines(ownedVectors(v), read(i), "    "), "    ");
}

/** Number `i` of a vector. */
export function numberOf(v: SubgroupVariant, vector: string, i: number): string {
  return vectorWidth(v) === 1 ? vector : `${vector}${component(i)}`;
}
