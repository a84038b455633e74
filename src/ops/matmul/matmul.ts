import { type Kernel, kernel } from "../../gpu/kernel.ts";
import type { PlanBuilder } from "../../gpu/plan_builder.ts";
import type { PlanValues, ScalarArg } from "../../gpu/plan_values.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { directMatmul } from "./direct.ts";
import type { Variant } from "./operands.ts";
import { checkOperands, type Extent, extentMax, extentValue, isFourfold, type MatmulArgs } from "./problem.ts";
import { type MatmulChoice, selectMatmul } from "./select.ts";
import { subgroupMatmul } from "./subgroup.ts";
import { workgroupMatmul } from "./workgroup.ts";

/** Texts are generated once per variant and tile. */
const generated = new Map<string, Kernel>();

function variantOf(args: MatmulArgs): Variant {
  const { form, b, M, N, K, bias, residual, columns, aColumns } = args;
  const places = [columns?.first, columns?.total, aColumns?.first, aColumns?.total];
  const vectors = [N, ...places].every((n = 0) => n % 4 === 0) && isFourfold(form === "TN" ? M : K);
  return {
    form,
    vectors,
    tail: !isFourfold(K),
    b: b.dtype,
    bias: bias !== undefined,
    residual: residual !== undefined,
    carry: form === "TN" && args.accumulate === true,
  };
}

function textOf(variant: Variant, choice: MatmulChoice): string {
  if (choice.family === "subgroup") return subgroupMatmul(variant, choice.lanes, choice.rows);
  const { tile } = choice;
  return "threads" in tile ? directMatmul(variant, tile) : workgroupMatmul(variant, tile);
}

function generate(variant: Variant, choice: MatmulChoice): Kernel {
  const key = JSON.stringify([variant, choice]);
  const made = generated.get(key) ?? kernel(`matmul_${choice.family}_${variant.form}`, textOf(variant, choice), "main");
  generated.set(key, made);
  return made;
}

/** Columns of the product per workgroup. */
function columnsOf(choice: MatmulChoice): number {
  if (choice.family === "subgroup") return 4 * choice.lanes;
  const { tile } = choice;
  return "threads" in tile ? 4 * tile.columns * tile.threads : tile.columns;
}

function scalarOf(extent: Extent): ScalarArg {
  return typeof extent !== "number" && extent.kind === "computed" ? extent.value : extent;
}

/** What is added to the product. */
function addends({ bias, residual }: MatmulArgs): Record<string, Tensor> {
  return { ...(bias === undefined ? {} : { bias }), ...(residual === undefined ? {} : { residual }) };
}

/** Scales of a packed right-hand side. */
function scalesOf({ b }: MatmulArgs): Record<string, Tensor> {
  return b.scales === undefined ? {} : { b_scale: b.scales };
}

/**
 * Records a matrix product: c = op(a) op(b) + bias + residual, or c += that with `accumulate`.
 * Every output element is one f32 accumulator over ascending k, whatever kernel runs, so a row's result does not depend
 * on M, on the other rows or on the family (adding 0 at most turns -0 into 0).
 * @throws ShapeError when an operand is too small, ConfigError when no allowed family runs on this adapter.
 */
export function matmul(plan: PlanBuilder, args: MatmulArgs): void {
  checkOperands(args);
  const { form, M, N, K, aColumns, columns: { first, total } = { first: 0, total: N } } = args;
  const variant = variantOf(args);
  const added = addends(args);
  const choices = selectMatmul(plan.device.caps, form, extentMax(M), typeof M === "number", args.families);
  for (const [i, { choice, fromRows }] of choices.entries()) {
    const below = choices[i + 1]?.fromRows ?? Number.POSITIVE_INFINITY;
    const columns = Math.ceil(N / columnsOf(choice));
    const served = (rows: number): boolean => rows >= fromRows && rows < below;
    plan.dispatch(generate(variant, choice), {
      tensors: { a: args.a, b: args.b, c: args.c, ...added, ...scalesOf(args) },
      scalars: {
        m: scalarOf(M),
        n: N,
        k: scalarOf(K),
        add: args.accumulate === true ? 1 : 0,
        width: total,
        first,
        a_width: aColumns?.total ?? scalarOf(form === "TN" ? M : K),
        a_first: aColumns?.first ?? 0,
      },
      work: (v: PlanValues) => {
        const [rows, terms] = [extentValue(M, v), extentValue(K, v)];
        return { flops: 2 * rows * N * terms, shape: `${rows}x${N}x${terms}` };
      },
      workgroups: (v: PlanValues) => {
        const rows = extentValue(M, v);
        // An empty chunk of records adds nothing to a gradient; do not read and write all of it for that.
        const empty = args.accumulate === true && Object.keys(added).length === 0 && extentValue(K, v) === 0;
        return served(rows) && !empty ? [columns, Math.ceil(rows / choice.rows)] : [0];
      },
    });
  }
}
