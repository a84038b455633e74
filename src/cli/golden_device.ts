import { type OptionalFeature, optionalFeatures } from "../gpu/capabilities.ts";
import type { Device } from "../gpu/device.ts";
import type { GoldenRow } from "./golden_rl/golden_file.ts";

/** The device that models were checked on: which kernels ran depends on it. */
export interface GoldenDevice {
  readonly adapter: string;
  /** Optional features it was opened with. */
  readonly features: readonly OptionalFeature[];
}

/** What the checks of a runtime gave; `device` is null when no model was among them. */
export interface GoldenReport {
  readonly rows: readonly GoldenRow[];
  readonly device: GoldenDevice | null;
}

/** What a report says of a device. */
export function goldenDevice({ caps, gpu }: Device): GoldenDevice {
  return { adapter: caps.adapter, features: optionalFeatures.filter((feature) => gpu.features.has(feature)) };
}
