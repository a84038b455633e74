import { blockColumns } from "../../core/dtype.ts";
import { ShapeError } from "../../core/errors.ts";
import type { KernelFamily } from "../../gpu/capabilities.ts";
import { dimValue, type PlanValues } from "../../gpu/plan_values.ts";
import { type Dim, dimMax, dimText, maxElements, type Tensor } from "../../gpu/tensor.ts";

/** Which operands are stored transposed: NN a (M,K) b (K,N); NT a (M,K) b (N,K); TN a (K,M) b (K,N). */
export type MatmulForm = "NN" | "NT" | "TN";

/** Ways to compute a product; every one adds the terms of an output element in the same order. */
export type MatmulFamily = KernelFamily;

/** A size of a product: an axis, or a number of rows computed from the sizes of a replay (a chunk of records). */
export type Extent =
  | Dim
  | { readonly kind: "computed"; readonly max: number; readonly value: (v: PlanValues) => number };

/** c = op(a) op(b) + bias + residual, or c += the same when `accumulate` is set. */
export interface MatmulArgs {
  readonly a: Tensor;
  /** f32, or frozen weights packed as f16, or as i8 with `scales` (forms NN and NT). */
  readonly b: Tensor;
  /** (M,N) */
  readonly c: Tensor;
  readonly form: MatmulForm;
  readonly M: Extent;
  readonly N: number;
  readonly K: Extent;
  readonly accumulate?: boolean;
  /** The columns of a wider stored a, of rows of `total`, that the product reads. */
  readonly aColumns?: { readonly first: number; readonly total: number };
  /** The columns of a wider c (M,total) that the product fills; bias and residual are as wide as c. */
  readonly columns?: { readonly first: number; readonly total: number };
  /** (N), added to every row. */
  readonly bias?: Tensor;
  /** (M,N); must not be `c`: use `accumulate` for that. */
  readonly residual?: Tensor;
  /** The only families allowed, for tests and measurements; default: what the table says. */
  readonly families?: readonly MatmulFamily[];
}

/** Largest value of a size. */
export function extentMax(extent: Extent): number {
  return typeof extent !== "number" && extent.kind === "computed" ? extent.max : dimMax(extent);
}

/** Value of a size at a replay. */
export function extentValue(extent: Extent, values: PlanValues): number {
  return typeof extent !== "number" && extent.kind === "computed" ? extent.value(values) : dimValue(extent, values);
}

/** True when a size is a number known to be a multiple of four, so that rows of it can be read as vec4. */
export function isFourfold(extent: Extent): boolean {
  return typeof extent === "number" && extent % 4 === 0;
}

/** @throws ShapeError when an operand is too small for its part in the product, or an i8 one has no whole blocks. */
export function checkOperands({ a, b, c, bias, residual, form, M, N, K, columns, aColumns }: MatmulArgs): void {
  const [m, k] = [extentMax(M), extentMax(K)];
  const advice = "Pass tensors that hold the product's operands.";
  if (b.dtype === "i8") {
    const width = form === "NT" ? k : N;
    const blocks = maxElements(b.scales?.shape ?? [0]);
    if (width % blockColumns !== 0 || blocks * blockColumns < k * N || form === "TN") {
      const expected = [`rows of whole blocks of ${blockColumns}, with a scale each`];
      throw new ShapeError("matmul.b", expected, b.shape.map(dimText), "Pass f16 or f32 weights instead.");
    }
  }
  for (const [name, tensor, rows, cols] of [
    ["a", a, form === "TN" ? k : m, aColumns?.total ?? (form === "TN" ? m : k)],
    ["b", b, k, N],
    ["c", c, m, columns?.total ?? N],
    ["bias", bias, 1, columns?.total ?? N],
    ["residual", residual, m, columns?.total ?? N],
  ] as const) {
    if (tensor === undefined || maxElements(tensor.shape) >= rows * cols) continue;
    throw new ShapeError(`matmul.${name}`, [`${rows} x ${cols}`], tensor.shape.map(dimText), advice);
  }
}
