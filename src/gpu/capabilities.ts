/** What a device can do, decided once from its adapter without timing anything. */
export interface Capabilities {
  /** One line for people and for tuning tables: vendor, architecture, device, description. */
  adapter: string;
  deviceClass: "software" | "gpu";
  /** Lanes per subgroup when the adapter fixes it to 4, 8, 16, 32 or 64; 0 when there are none or it varies. */
  subgroupWidth: number;
  f16: boolean;
  timestamps: boolean;
  /** The family of kernels that was asked for, when one was. */
  kernels?: KernelFamily | undefined;
  /** What measuring chose on this adapter, when it was asked to. */
  tuned?: readonly TunedKernel[] | undefined;
  limits: {
    maxBufferBytes: number;
    maxBindingBytes: number;
    offsetAlignment: number;
    maxInvocations: number;
    maxWorkgroupBytes: number;
    maxStorageBuffers: number;
  };
}

/** Features Leyden uses when the adapter offers them. */
export const optionalFeatures = ["subgroups", "shader-f16", "timestamp-query"] as const;
export type OptionalFeature = (typeof optionalFeatures)[number];

/**
 * Ways to write a kernel: lanes of a subgroup exchange what they read; an invocation per row; registers alone; tiles in
 * workgroup memory, by their size.
 */
export const kernelFamilies = [
  "subgroup",
  "gemv",
  "direct",
  "workgroup",
  "workgroup_64x64",
  "workgroup_128x64",
] as const;
export type KernelFamily = (typeof kernelFamilies)[number];

/** The family that measuring chose for an operation from a number of rows on. */
export interface TunedKernel {
  /** "matmul." and the form. */
  readonly operation: string;
  readonly fromRows: number;
  readonly family: KernelFamily;
}

/** What an adapter's tuned kernels are kept under. */
export function tuningKey({ adapter, subgroupWidth, f16 }: Capabilities): string {
  return `${adapter} | subgroups of ${subgroupWidth} | ${f16 ? "f16" : "no f16"}`;
}

/** Whether a text names a family of kernels. */
export function isKernelFamily(name: string): name is KernelFamily {
  return (kernelFamilies as readonly string[]).includes(name);
}

/** Subgroup widths that kernels by subgroups are written for. */
const servedWidths: readonly number[] = [4, 8, 16];

/** True where kernels by subgroups run: subgroups of a fixed width of 4, 8 or 16 lanes. */
export function servesSubgroups({ subgroupWidth }: Pick<Capabilities, "subgroupWidth">): boolean {
  return servedWidths.includes(subgroupWidth);
}

const softwareNames = /llvmpipe|SwiftShader|WARP|Basic Render/i;

/** `software` for a driver that computes on the CPU, else `gpu`. */
export function deviceClassOf(info: GPUAdapterInfo): "software" | "gpu" {
  const fallback = "isFallbackAdapter" in info && info.isFallbackAdapter;
  return fallback || softwareNames.test(`${info.description} ${info.device}`) ? "software" : "gpu";
}

/** Name of an adapter: its non-empty info fields. */
export function adapterName(info: GPUAdapterInfo): string {
  return [info.vendor, info.architecture, info.device, info.description].filter((s) => s !== "").join(" | ");
}

/** f32 lanes of the vectors a software adapter computes with; llvmpipe states their bits in its name. */
export function softwareLanes({ adapter, subgroupWidth }: Capabilities): number {
  const bits = /(\d+)[ -]bits/.exec(adapter)?.[1];
  return bits === undefined ? Math.max(subgroupWidth, 8) : Number(bits) / 32;
}

function fixedSubgroupWidth(adapter: GPUAdapter): number {
  const info = adapter.info as GPUAdapterInfo & { subgroupMinSize?: number; subgroupMaxSize?: number };
  const width = info.subgroupMinSize ?? 0;
  return width === info.subgroupMaxSize && [4, 8, 16, 32, 64].includes(width) ? width : 0;
}

/** Reads the capabilities a device has when it was opened with `features`. */
export function readCapabilities(adapter: GPUAdapter, device: GPUDevice): Capabilities {
  const limits = device.limits;
  return {
    adapter: adapterName(adapter.info),
    deviceClass: deviceClassOf(adapter.info),
    subgroupWidth: device.features.has("subgroups") ? fixedSubgroupWidth(adapter) : 0,
    f16: device.features.has("shader-f16"),
    timestamps: device.features.has("timestamp-query"),
    limits: {
      maxBufferBytes: limits.maxBufferSize,
      maxBindingBytes: limits.maxStorageBufferBindingSize,
      offsetAlignment: Math.max(256, limits.minStorageBufferOffsetAlignment),
      maxInvocations: limits.maxComputeInvocationsPerWorkgroup,
      maxWorkgroupBytes: limits.maxComputeWorkgroupStorageSize,
      maxStorageBuffers: limits.maxStorageBuffersPerShaderStage,
    },
  };
}
