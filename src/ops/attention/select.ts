import { type Capabilities, servesSubgroups, softwareLanes } from "../../gpu/capabilities.ts";
import type { AttentionVariant } from "./rows.ts";

/** The three kernels of attention: forward, gradient of the queries, gradient of keys and values. */
export type AttentionPass = "forward" | "dq" | "dkv";

/**
 * The tile for a head size (test/bench/LOG.md). Rows stay in registers, so long heads leave room for fewer. On a GPU one
 * row per invocation; on software adapters a read costs most, and more rows share it.
 */
export function attentionVariant(caps: Capabilities, pass: AttentionPass, headDim: number): AttentionVariant {
  const style = styleOf(caps);
  if (style === "rows") return { headDim, lanes: 0, threads: 64, rowsPerThread: 1 };
  const registers = headDim * { forward: 2, dq: 3, dkv: 4 }[pass];
  if (style === "subgroup") {
    const lanes = caps.subgroupWidth;
    // Two rows to a lane while both leave room in a processor's nearest 32 KiB.
    const few = registers > 256 || registers * lanes > 3072;
    return { headDim, lanes, threads: lanes, rowsPerThread: few ? 1 : 2 };
  }
  return { headDim, lanes: 0, threads: softwareLanes(caps), rowsPerThread: registers > 128 ? 2 : 4 };
}

/** Rows of the tile and how they read the other side; the family asked for decides where there is one. */
function styleOf(caps: Capabilities): "subgroup" | "direct" | "rows" {
  const { kernels = "gemv" } = caps;
  if (kernels === "subgroup" || kernels === "direct") return kernels;
  if (kernels !== "gemv") return "rows";
  if (caps.deviceClass === "gpu") return "rows";
  return servesSubgroups(caps) ? "subgroup" : "direct";
}
