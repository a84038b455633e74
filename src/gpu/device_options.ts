import type { Env } from "../core/clock.ts";
import { ConfigError } from "../core/errors.ts";
import {
  isKernelFamily,
  type KernelFamily,
  kernelFamilies,
  type OptionalFeature,
  optionalFeatures,
  type TunedKernel,
} from "./capabilities.ts";

/** Options of `openDevice`. */
export interface DeviceOptions {
  /** Features to leave off although the adapter has them. */
  disable?: readonly OptionalFeature[];
  /** The only family of kernels to use where an operation has it; default: what each operation's table says. */
  kernels?: KernelFamily;
  /** What measuring chose, by `tuningKey` of the adapter. */
  tuning?: Readonly<Record<string, readonly TunedKernel[]>>;
}

/**
 * Options out of the environment: LEYDEN_KERNELS names a family of kernels, LEYDEN_GPU_DISABLE features to leave off,
 * separated by commas. @throws ConfigError naming what there is, for an unknown name
 */
export function deviceOptions(env: Env): DeviceOptions {
  const family = env.LEYDEN_KERNELS ?? "";
  if (family !== "" && !isKernelFamily(family)) {
    const known = kernelFamilies.join(", ");
    throw new ConfigError(`LEYDEN_KERNELS is "${family}"; the families of kernels are ${known}.`, {
      do: "Leave it unset, or name one of them.",
    });
  }
  const disable = (env.LEYDEN_GPU_DISABLE ?? "").split(",").filter((name) => name !== "");
  for (const name of disable) {
    if ((optionalFeatures as readonly string[]).includes(name)) continue;
    const known = optionalFeatures.join(", ");
    throw new ConfigError(`LEYDEN_GPU_DISABLE names "${name}"; the features that can be left off are ${known}.`, {
      do: "Leave it unset, or name some of them.",
    });
  }
  return { disable: disable as OptionalFeature[], ...(family === "" ? {} : { kernels: family }) };
}
