import { type Capabilities, servesSubgroups } from "../../gpu/capabilities.ts";
import type { QkvShape } from "../qkv_shape.ts";

/**
 * Kernels of paged attention: a subgroup per key head and tile of rows, an invocation per (row, head), or a workgroup
 * per head and tile of rows.
 */
export type PagedFamily = "subgroup" | "alone" | "shared";

/** Query heads whose sums a subgroup keeps in registers for one row. */
const mostHeads = 8;
/** Rows of a workgroup's tile; more are hardly faster and take twice as long to compile. */
const sharedRows = 4;

/** The family for an adapter (test/bench/LOG.md), or the one that is asked for. */
export function pagedFamily(caps: Capabilities): PagedFamily {
  const { kernels = "gemv" } = caps;
  if (kernels === "subgroup") return "subgroup";
  if (kernels === "direct") return "alone";
  if (kernels !== "gemv" || caps.deviceClass === "gpu") return "shared";
  return servesSubgroups(caps) ? "subgroup" : "alone";
}

/** Query heads of one key head that a subgroup of `lanes` takes: the most that divide them evenly. */
export function headsTogether(lanes: number, { heads, kvHeads }: QkvShape): number {
  const group = heads / kvHeads;
  for (let n = Math.min(mostHeads, lanes, group); n > 1; n--) if (group % n === 0) return n;
  return 1;
}

/** Rows at consecutive positions of one sequence that share one reading of the keys; 1 when the kernel has no tiles. */
export function pagedTileRows(caps: Capabilities, shape: QkvShape): number {
  const family = pagedFamily(caps);
  if (family === "alone") return 1;
  const { subgroupWidth: lanes } = caps;
  return family === "shared" ? sharedRows : Math.floor(lanes / headsTogether(lanes, shape));
}
