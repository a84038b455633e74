import type { PlanInputs } from "../gpu/plan.ts";

/**
 * Plan inputs of the loss head's gradient: which records predict from each of T hidden rows. Records of row t are
 * order[off[t]..off[t+1]), ascending.
 */
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
