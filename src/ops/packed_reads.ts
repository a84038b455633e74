import { blockColumns, type DType } from "../core/dtype.ts";

/** WGSL that declares a read-only matrix `name` of a type at a binding, and reads it as f32. */
export interface PackedReads {
  readonly declaration: string;
  /** Function `{name}_1(i)`: element i, or `{name}_4(i)`: elements 4i to 4i+3; rows lie one after another. */
  readonly functions: string;
}

/** Signed bytes of a word by shifts: unpack4xI8 is not everywhere, and unpack4x8snorm may round. */
const signedByte = (word: string, left: string): string => `f32(i32(${word} << ${left}) >> 24u)`;

function one(name: string, dtype: DType): string {
  if (dtype === "f16") return `unpack2x16float(${name}[i >> 1u])[i & 1u]`;
  if (dtype === "i8")
    return `${signedByte(`${name}[i >> 2u]`, "(24u - 8u * (i & 3u))")} * ${name}_scale[i / ${blockColumns}u]`;
  return `${name}[i]`;
}

function four(name: string, dtype: DType): string {
  if (dtype === "f16") return `vec4f(unpack2x16float(${name}[i].x), unpack2x16float(${name}[i].y))`;
  if (dtype === "f32") return `${name}[i]`;
  const bytes = [24, 16, 8, 0].map((left) => signedByte(`${name}[i]`, `${left}u`));
  return `vec4f(${bytes.join(", ")}) * ${name}_scale[i / ${blockColumns / 4}u]`;
}

/**
 * Text to read a matrix of f32, f16 or i8: its binding, for i8 that of its scales at `scaleBinding`, and one function.
 * An i8 matrix is a multiple of `blockColumns` wide, so a block never spans two rows.
 */
export function packedReads(
  name: string,
  dtype: DType,
  {
    vectors,
    binding,
    scaleBinding,
  }: { readonly vectors: boolean; readonly binding: number; readonly scaleBinding: number },
): PackedReads {
  const wide = { f16: "vec2u", i8: "u32", f32: "vec4f" }[dtype as "f16" | "i8" | "f32"];
  const narrow = dtype === "f32" ? "f32" : "u32";
  const declare = (at: number, what: string, element: string): string =>
    `@group(0) @binding(${at}) var<storage, read> ${what}: array<${element}>;`;
  const own = declare(binding, name, vectors ? wide : narrow);
  return {
    declaration: dtype === "i8" ? `${own}\n${declare(scaleBinding, `${name}_scale`, "f32")}` : own,
    functions: vectors
      ? `fn ${name}_4(i: u32) -> vec4f { return ${four(name, dtype)}; }`
      : `fn ${name}_1(i: u32) -> f32 { return ${one(name, dtype)}; }`,
  };
}
