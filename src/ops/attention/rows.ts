import { component, lines, upTo } from "../wgsl_text.ts";

/**
 * What an attention kernel is specialised for. Every invocation owns `rowsPerThread` rows of its workgroup's tile and
 * keeps them in registers, one value of all its rows to a vector; the rows of the other side are taken one at a time,
 * equal for all lanes. `lanes`: subgroup width, or 0. With subgroups the lanes load such a row together and broadcast
 * its elements; without, every invocation loads all of it.
 */
export interface AttentionVariant {
  readonly headDim: number;
  readonly lanes: number;
  readonly threads: number;
  readonly rowsPerThread: 1 | 2 | 4;
}

/** Rows a workgroup owns. */
export function tileRows({ threads, rowsPerThread }: AttentionVariant): number {
  return threads * rowsPerThread;
}

/** Groups of four elements in a head, the last one possibly part empty. */
function chunks({ headDim }: AttentionVariant): number {
  return Math.ceil(headDim / 4);
}

/** Heads are read as vec4s when their size allows it, else number by number. */
function usesVectors({ headDim }: AttentionVariant): boolean {
  return headDim % 4 === 0;
}

/** Element type of the packed tensors in this variant. */
export function elementType(variant: AttentionVariant): string {
  return usesVectors(variant) ? "vec4f" : "f32";
}

/** Elements of the packed tensors per head. */
export function headWidth(variant: AttentionVariant): number {
  return usesVectors(variant) ? chunks(variant) : variant.headDim;
}

/** One line per element of a head. */
export function perElement({ headDim }: AttentionVariant, text: (d: number) => string, indent = "      "): string {
  return lines(headDim, text, indent);
}

/** Types of one value per row, and the sizes that every attention kernel takes. */
export function preamble({ lanes, rowsPerThread }: AttentionVariant): string {
  const [rows, places] = rowsPerThread === 1 ? ["f32", "u32"] : [`vec${rowsPerThread}f`, `vec${rowsPerThread}u`];
  return `${lanes > 0 ? "enable subgroups;" : ""}
struct Dims { rows: u32, heads: u32, kv_heads: u32, scale: f32, add: u32, chunks: u32, rows_per_thread: u32 }
alias Rows = ${rows};
alias Places = ${places};
@group(0) @binding(0) var<uniform> dims: Dims;`;
}

/** Head of the entry point: this workgroup's first row, this invocation's `first`, and all its rows' numbers, `place`. */
export function entry(variant: AttentionVariant): string {
  const { lanes, threads, rowsPerThread } = variant;
  const lane = lanes > 0 ? "subgroup_invocation_id" : "local_invocation_index";
  return `@compute @workgroup_size(${threads})
fn main(@builtin(workgroup_id) group: vec3u, @builtin(${lane}) lane: u32) {
  let row0 = group.x * ${tileRows(variant)}u;
  let first = row0 + lane * ${rowsPerThread}u;
  let place = Places(first) + Places(${upTo(rowsPerThread).map((i) => `${i}u`)});
  let stride = (dims.heads + 2u * dims.kv_heads) * ${headWidth(variant)}u;`;
}

/** Chunk `c` of the head that starts at `base`; an element past the head's end reads the head's last. */
function readChunk(variant: AttentionVariant, array: string, base: string, c: string): string {
  if (usesVectors(variant)) return `${array}[${base} + ${c}]`;
  const four = upTo(4).map((i) => `${array}[${base} + min(4u * ${c} + ${i}u, ${variant.headDim - 1}u)]`);
  return `vec4f(${four.join(", ")})`;
}

/** The part of a value that belongs to row `i` of the invocation. */
function ofRow(variant: AttentionVariant, value: string): string {
  return variant.rowsPerThread === 1 ? value : `${value}[i]`;
}

/**
 * Loads this invocation's rows of a head into registers `{name}{d}`. `base` gives the text of a row's first element from
 * its number; a row past the end reads the last row again. The rows go through a private array, so that one read in the
 * text serves them all: a software adapter's compiler takes time with the square of the reads and writes it sees.
 */
export function loadRows(
  variant: AttentionVariant,
  name: string,
  array: string,
  base: (place: string) => string,
): string {
  const put = (q: number): string => `${ofRow(variant, `${name}[4u * c + ${q}u]`)} = chunk${component(q)};`;
  return `var ${name}: array<Rows, ${4 * chunks(variant)}>;
  for (var i = 0u; i < dims.rows_per_thread; i++) {
    let base = ${base("min(first + i, dims.rows - 1u)")};
    for (var c = 0u; c < dims.chunks; c++) {
      let chunk = ${readChunk(variant, array, "base", "c")};
      ${lines(4, put, "      ")}
    }
  }
  ${perElement(variant, (d) => `let ${name}${d} = ${name}[${d}];`, "  ")}`;
}

/** Stores registers `{name}{d}` as rows of a head, by `put(index, value)`. */
export function storeRows(variant: AttentionVariant, name: string, base: (place: string) => string): string {
  const value = (q: number): string => ofRow(variant, `${name}[4u * c + ${q}u]`);
  const single = (q: number): string =>
    `if (4u * c + ${q}u < ${variant.headDim}u) { put(base + 4u * c + ${q}u, ${value(q)}); }`;
  const write = usesVectors(variant) ? `put(base + c, vec4f(${upTo(4).map(value)}));` : lines(4, single, "      ");
  return `var ${name}: array<Rows, ${4 * chunks(variant)}>;
  ${perElement(variant, (d) => `${name}[${d}] = ${name}${d};`, "  ")}
  for (var i = 0u; i < dims.rows_per_thread && first + i < dims.rows; i++) {
    let base = ${base("(first + i)")};
    for (var c = 0u; c < dims.chunks; c++) {
      ${write}
    }
  }`;
}

/** Loads one number per row from `array[index(place)]`. */
export function loadPerRow(
  variant: AttentionVariant,
  name: string,
  array: string,
  index: (place: string) => string,
): string {
  return `var ${name} = Rows(0.0);
  for (var i = 0u; i < dims.rows_per_thread; i++) {
    ${ofRow(variant, name)} = ${array}[${index("min(first + i, dims.rows - 1u)")}];
  }`;
}

/** Stores one number per row. */
export function storePerRow(
  variant: AttentionVariant,
  name: string,
  array: string,
  index: (place: string) => string,
): string {
  return `for (var i = 0u; i < dims.rows_per_thread && first + i < dims.rows; i++) {
    ${array}[${index("(first + i)")}] = ${ofRow(variant, name)};
  }`;
}

/** Reads a row of the other side, whose head starts at `base`, into numbers `{name}_{d}` equal for all lanes. */
export function readShared(variant: AttentionVariant, name: string, array: string, base: string): string {
  const { lanes } = variant;
  const count = chunks(variant);
  if (lanes === 0) {
    const load = (c: number): string => `let ${name}c${c} = ${readChunk(variant, array, base, `${c}u`)};`;
    return `${lines(count, load, "      ")}
      ${perElement(variant, (d) => `let ${name}_${d} = ${name}c${d >> 2}${component(d)};`)}`;
  }
  const load = (t: number): string =>
    `let ${name}c${t} = ${readChunk(variant, array, base, `min(lane + ${t * lanes}u, ${count - 1}u)`)};`;
  const element = (d: number): string => {
    const [t, lane] = [Math.floor(d / (4 * lanes)), (d >> 2) % lanes];
    return `let ${name}_${d} = subgroupBroadcast(${name}c${t}${component(d)}, ${lane}u);`;
  };
  return `${lines(Math.ceil(count / lanes), load, "      ")}
      ${perElement(variant, element)}`;
}

/** `{out}`: the products of this invocation's rows with the shared row, elements in ascending order. */
export function dot(variant: AttentionVariant, out: string, rows: string, shared: string): string {
  return `var ${out} = Rows(0.0);
      ${perElement(variant, (d) => `${out} = fma(${rows}${d}, Rows(${shared}_${d}), ${out});`)}`;
}

/** Adds `weight` times the shared row to registers of this invocation's rows. */
export function addScaled(variant: AttentionVariant, sum: string, weight: string, shared: string): string {
  return perElement(variant, (d) => `${sum}${d} = fma(${weight}, Rows(${shared}_${d}), ${sum}${d});`);
}

/** Registers `{name}{d}` at zero. */
export function zeroRows(variant: AttentionVariant, name: string): string {
  return perElement(variant, (d) => `var ${name}${d} = Rows(0.0);`, "  ");
}
