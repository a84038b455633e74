import { type Kernel, kernel } from "../gpu/kernel.ts";
import { wgsl } from "../gpu/wgsl.gen.ts";
import { isCoupled, type LossKind } from "./loss_settings.ts";

const records = ["weight", "advantage", "old_logprob"] as const;
const text = wgsl.loss_head;
/** Kernels of the loss head that do not depend on the loss. */
export const lossKernels: Readonly<Record<"gather" | "scan" | "measure" | "couple" | "slope" | "scatter", Kernel>> = {
  gather: kernel("loss_head", text, "gather", ["h", "src", "hg"]),
  scan: kernel("loss_head", text, "scan", ["logits", "targets", "fold"]),
  measure: kernel("loss_head", text, "measure", ["fold", "stats"]),
  couple: kernel("loss_head", text, "couple", [...records, "stats", "unit_off", "unit_order", "outside", "coupled"]),
  slope: kernel("loss_head", text, "slope", ["logits", "targets", "fold"]),
  scatter: kernel("loss_head", text, "scatter", ["dhg", "off", "order", "dh"]),
};

/** Made once per loss. */
const settleKernels = new Map<LossKind, Kernel>();

/** The kernel that turns scores into losses: the module with the loss's own text in the place of cross entropy's. */
export function settleKernel(kind: LossKind): Kernel {
  const entry = isCoupled(kind) ? "settle_coupled" : "settle";
  const uses = ["fold", ...records, "ref_logprob", "stats", ...(isCoupled(kind) ? ["unit", "coupled"] : [])];
  const own = text.replace(wgsl.loss_cross_entropy, wgsl[`loss_${kind}`]);
  const made = settleKernels.get(kind) ?? kernel(`loss_head_${kind}`, own, entry, uses);
  settleKernels.set(kind, made);
  return made;
}
