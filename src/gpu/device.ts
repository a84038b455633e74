import { ConfigError, DeviceError, EnvironmentError } from "../core/errors.ts";
import { type Capabilities, optionalFeatures, readCapabilities, servesSubgroups, tuningKey } from "./capabilities.ts";
import { type DeviceCounters, zeroCounters } from "./counters.ts";
import type { DeviceOptions } from "./device_options.ts";
import { PipelineCache } from "./pipelines.ts";
import { Pool } from "./pool.ts";
import type { Profiler } from "./profiler.ts";

const wantedLimits = [
  "maxBufferSize",
  "maxStorageBufferBindingSize",
  "maxStorageBuffersPerShaderStage",
  "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
  "maxComputeWorkgroupSizeY",
] as const;

/** An open GPU device with its pool, its pipelines and the first fault it reported. */
export class Device {
  readonly gpu: GPUDevice;
  readonly caps: Capabilities;
  readonly pool: Pool;
  readonly pipelines: PipelineCache;
  readonly counters: DeviceCounters = zeroCounters();
  /** While set, plans run dispatch by dispatch and report each. */
  profiler: Profiler | null = null;
  /**
   * While set, plans are built without planning: every temporary has a buffer of its own, every dispatch a submit, and
   * what nobody uses is computed too. Results must be the same to the last bit; where they are not, planning is at fault.
   */
  naivePlans = false;
  private fault: DeviceError | null = null;
  private closed = false;

  constructor(gpu: GPUDevice, caps: Capabilities) {
    this.gpu = gpu;
    this.caps = caps;
    this.pool = new Pool(gpu, caps.limits.maxBufferBytes);
    this.pipelines = new PipelineCache(this);
    gpu.addEventListener("uncapturederror", (event) => {
      this.fault ??= deviceErrorFrom((event as GPUUncapturedErrorEvent).error);
    });
    void gpu.lost.then((info) => {
      if (this.closed) return;
      this.fault = lostError(info.message || info.reason);
    });
  }

  /** Submits the commands of one encoder. */
  submit(encoder: GPUCommandEncoder): void {
    this.counters.submits++;
    this.gpu.queue.submit([encoder.finish()]);
  }

  /** True once the device reported that it is gone. */
  get isLost(): boolean {
    return this.fault?.code === "device_lost";
  }

  /** @throws DeviceError the first fault reported since the last check, if any; a loss is reported every time. */
  throwFault(): void {
    const fault = this.fault;
    if (fault === null) return;
    if (fault.code !== "device_lost") this.fault = null;
    throw fault;
  }

  /**
   * Runs `work` inside error scopes. It must not wait for anything: scopes are a stack of the whole device, so one that
   * stays open over an await catches the errors of others.
   * @throws DeviceError naming `what` when the GPU reports a fault in it
   */
  async checked<T>(what: string, work: () => T): Promise<T> {
    this.gpu.pushErrorScope("out-of-memory");
    this.gpu.pushErrorScope("validation");
    let popped: Promise<(GPUError | null)[]> | undefined;
    let result: T;
    try {
      result = work();
    } finally {
      popped = Promise.all([this.gpu.popErrorScope(), this.gpu.popErrorScope()]);
      popped.catch(() => undefined);
    }
    const [validation, memory] = await this.orLost(popped);
    const error = memory ?? validation ?? null;
    if (error !== null) this.fault ??= deviceErrorFrom(error, what);
    this.throwFault();
    return result;
  }

  /** What a promise of the GPU gives. @throws DeviceError "device_lost" when it failed because the device is gone */
  async orLost<T>(promise: Promise<T>): Promise<T> {
    try {
      return await promise;
    } catch (cause) {
      // Runtimes differ in what a call on a lost device fails with, and settle `lost` only some time after it: wait for
      // the queue, whose answer comes later than that.
      await this.gpu.queue.onSubmittedWorkDone().catch(() => undefined);
      if (/\b(lost|destroyed)\b/i.test((cause as Error).message)) this.fault ??= lostError((cause as Error).message);
      this.throwFault();
      throw cause;
    }
  }

  /** Resolves when everything submitted so far has run. */
  async idle(): Promise<void> {
    await this.orLost(this.gpu.queue.onSubmittedWorkDone());
    this.throwFault();
  }

  /** Destroys the device and every buffer of its pool. */
  close(): void {
    this.closed = true;
    this.pool.dispose();
    this.gpu.destroy();
  }
}

function lostError(reason: string): DeviceError {
  return new DeviceError("device_lost", `The GPU device was lost: ${reason.replace(/\.$/, "")}.`, {
    do: "The engine reopens it from the last committed state; if it happens again, lower train.microBatchTokens.",
  });
}

function deviceErrorFrom(error: GPUError, what = ""): DeviceError {
  const place = what === "" ? "" : ` in ${what}`;
  const outOfMemory = error.constructor.name === "GPUOutOfMemoryError";
  return outOfMemory
    ? new DeviceError("device_memory", `The GPU ran out of memory${place}: ${error.message}`, {
        do: "Lower train.microBatchTokens or model.kvTokens, or use a smaller model.",
      })
    : new DeviceError("device_validation", `The GPU refused a command${place}: ${error.message}`, {
        do: "This is a fault in Leyden: report it with the adapter's name.",
      });
}

/**
 * Opens a device on the best adapter of `gpu` with the adapter's own limits and the optional features it has.
 * @throws EnvironmentError "no_adapter" when there is none; the remedy is `leyden doctor`. ConfigError when the adapter
 * cannot run the family of kernels that is asked for.
 */
export async function openDevice(gpu: GPU | undefined, options: DeviceOptions = {}): Promise<Device> {
  const adapter = await gpu?.requestAdapter({ powerPreference: "high-performance" });
  if (adapter === null || adapter === undefined) {
    throw new EnvironmentError("no_adapter", "No WebGPU adapter was found on this machine.", {
      do: "Run: leyden doctor --fix (it finds or installs a driver); in a browser enable WebGPU.",
    });
  }
  const disabled = options.disable ?? [];
  const requiredFeatures = optionalFeatures.filter((f) => adapter.features.has(f) && !disabled.includes(f));
  const requiredLimits: Record<string, number> = {};
  for (const name of wantedLimits) requiredLimits[name] = adapter.limits[name];
  const device = await adapter.requestDevice({ requiredFeatures, requiredLimits });
  const own = readCapabilities(adapter, device);
  const caps: Capabilities = { ...own, kernels: options.kernels, tuned: options.tuning?.[tuningKey(own)] };
  if (options.kernels === "subgroup" && !servesSubgroups(caps)) {
    device.destroy();
    throw new ConfigError(`Kernels by subgroups need subgroups of 4, 8 or 16 lanes; ${caps.adapter} has none.`, {
      do: "Leave LEYDEN_KERNELS unset, or choose another adapter.",
    });
  }
  return new Device(device, caps);
}
