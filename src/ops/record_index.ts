import type { PlanInputs } from "../gpu/plan.ts";
import type { PlanBuilder } from "../gpu/plan_builder.ts";
import { type Dim, dimMax, type Tensor } from "../gpu/tensor.ts";

/** Which of R records predict from each of T hidden rows: those of row t are order[off[t]..off[t+1]), ascending. */
export interface RecordIndex {
  /** (T+1) u32 */
  readonly off: Tensor;
  /** (R) u32 */
  readonly order: Tensor;
}

/** The index as inputs of a plan, which `recordIndexInputs` fills; heads on the same rows share it. */
export function recordIndex(plan: PlanBuilder, tokens: Dim, records: Dim): RecordIndex {
  return {
    off: plan.input("records.off", [dimMax(tokens) + 1], "u32"),
    order: plan.input("records.order", [records], "u32"),
  };
}

/** What fills `recordIndex` for records on hidden rows `src` of T. */
export function recordIndexInputs(src: ArrayLike<number>, tokens: number): PlanInputs {
  const off = new Uint32Array(tokens + 1);
  for (let r = 0; r < src.length; r++) {
    const next = (src[r] as number) + 1;
    off[next] = (off[next] as number) + 1;
  }
  for (let t = 0; t < tokens; t++) off[t + 1] = (off[t + 1] as number) + (off[t] as number);
  const order = new Uint32Array(src.length);
  const place = off.slice();
  for (let r = 0; r < src.length; r++) {
    const t = src[r] as number;
    order[place[t] as number] = r;
    place[t] = (place[t] as number) + 1;
  }
  return { "records.off": off, "records.order": order };
}
