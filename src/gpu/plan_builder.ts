import type { DType } from "../core/dtype.ts";
import { DeviceError } from "../core/errors.ts";
import { alignUp } from "../core/shape.ts";
import { layOutArena, type Slot } from "./arena.ts";
import type { Device } from "./device.ts";
import type { Kernel, KernelBinding } from "./kernel.ts";
import { type DispatchEffect, liveDispatches } from "./live_dispatches.ts";
import type { CompiledKernel, Constants } from "./pipelines.ts";
import { Plan, type PlanStep } from "./plan.ts";
import type { DynScalar, PlanValues, ScalarArg, Workgroups } from "./plan_values.ts";
import type { PoolBuffer } from "./pool.ts";
import type { DispatchWork } from "./profiler.ts";
import { bufferTensor, type Dim, type DynDim, maxBytes, type Tensor } from "./tensor.ts";
import { tensorUsage, usage } from "./usage.ts";

/** Arguments of a dispatch by the shader's own names: storage variables get tensors, Dims fields get scalars. */
export interface DispatchArgs {
  readonly tensors: Readonly<Record<string, Tensor>>;
  readonly scalars?: Readonly<Record<string, ScalarArg>>;
  readonly constants?: Constants;
  readonly workgroups: Workgroups;
  /** What it computes, for profiles. */
  readonly work?: (values: PlanValues) => DispatchWork;
}

interface RecordedDispatch {
  readonly kernel: Kernel;
  readonly args: DispatchArgs;
}

/**
 * Records dispatches over tensors, then builds a Plan that replays them in one compute pass. Temporaries live in one
 * arena laid out by liveness for the largest sizes; nothing is created at replay.
 */
export class PlanBuilder {
  readonly device: Device;
  readonly label: string;
  private dispatches: RecordedDispatch[] = [];
  private readonly slots: Slot[] = [];
  private readonly dynamic = new Map<string, DynDim>();
  private readonly scalars = new Set<string>();
  private readonly inputs = new Map<string, Tensor>();
  private readonly outputs = new Map<string, Tensor>();
  private readonly owned: PoolBuffer[] = [];
  private cuts: number[] = [];

  constructor(device: Device, label: string) {
    this.device = device;
    this.label = label;
  }

  /** A size given at each replay, at most `max`. */
  dim(name: string, max: number): DynDim {
    const dim: DynDim = { kind: "dyn", name, max };
    this.dynamic.set(name, dim);
    return dim;
  }

  /** A number given at each replay. */
  scalar(name: string): DynScalar {
    this.scalars.add(name);
    return { kind: "scalar", name };
  }

  /** A tensor the host writes before each replay; always bound read-only, so control flow on it is uniform. */
  input(name: string, shape: readonly Dim[], dtype: DType = "f32"): Tensor {
    const tensor = this.lasting(name, shape, dtype);
    this.inputs.set(name, tensor);
    return tensor;
  }

  /** A tensor of the plan's own that keeps its content from replay to replay; zero at first. */
  lasting(name: string, shape: readonly Dim[], dtype: DType = "f32"): Tensor {
    const buffer = this.device.pool.allocate(`${this.label}.${name}`, maxBytes({ shape, dtype }), tensorUsage);
    this.owned.push(buffer);
    return bufferTensor(buffer, shape, dtype);
  }

  /** A temporary in the arena. Its content is undefined until a dispatch writes it. */
  temp(shape: readonly Dim[], label = "temp", dtype: DType = "f32"): Tensor {
    const slot = this.slots.length;
    this.slots.push({ bytes: Math.max(16, maxBytes({ shape, dtype })), first: Number.POSITIVE_INFINITY, last: -1 });
    return { shape, dtype, storage: { kind: "arena", slot }, offsetBytes: 0, label };
  }

  /** Marks a tensor to be read back by `Plan.run`; it stays alive to the end of the plan. */
  output(name: string, tensor: Tensor): void {
    this.outputs.set(name, tensor);
  }

  /** Records one dispatch. @throws DeviceError "shader" when an argument of the kernel is missing. */
  dispatch(kernel: Kernel, args: DispatchArgs): void {
    for (const b of kernel.bindings) {
      if (args.tensors[b.name] === undefined) throw missing(kernel, b.name);
    }
    for (const s of kernel.scalars) {
      if (args.scalars?.[s.name] === undefined) throw missing(kernel, s.name);
    }
    this.dispatches.push({ kernel, args });
  }

  /** Ends a quantum: with `split`, a replay submits what was recorded up to here on its own. */
  cut(): void {
    if (this.dispatches.length > 0 && this.cuts.at(-1) !== this.dispatches.length)
      this.cuts.push(this.dispatches.length);
  }

  /** Lays out the arena, compiles, creates bind groups. @throws DeviceError when the GPU refuses something. */
  async build(): Promise<Plan> {
    try {
      return await this.compileAndBind();
    } catch (thrown) {
      for (const buffer of this.owned) this.device.pool.release(buffer);
      throw thrown;
    }
  }

  /**
   * Bytes that the plan would take with its buffers and what its outputs are read back through; nothing is compiled, and
   * what it owns is released. For a device of `countingDevice`.
   */
  measure(): number {
    this.dropDead();
    this.layOut();
    const readback = [...this.outputs.values()].reduce((n, t) => n + alignUp(maxBytes(t), 16), 0);
    const owned = this.owned.reduce((n, buffer) => n + buffer.bytes, 0);
    for (const buffer of this.owned) this.device.pool.release(buffer);
    return owned + this.uniformSizes().bytes + readback;
  }

  /** Bytes of the uniforms of one dispatch, and of all. */
  private uniformSizes(): { stride: number; bytes: number } {
    const { device, dispatches } = this;
    const widest = Math.max(...dispatches.map((d) => d.kernel.scalars.length * 4), 4);
    const stride = alignUp(widest, device.caps.limits.offsetAlignment);
    return { stride, bytes: stride * Math.max(1, dispatches.length) };
  }

  private async compileAndBind(): Promise<Plan> {
    this.dropDead();
    const { device, dispatches } = this;
    const { place, arenaBytes } = this.layOut();
    const { stride: uniformStride, bytes: uniformBytes } = this.uniformSizes();
    const uniform = device.pool.allocate(`${this.label}.dims`, uniformBytes, usage.uniform | usage.copyDst);
    this.owned.push(uniform);
    const placed = dispatches.map((d) => placeArguments(d, place));
    const compiled = await Promise.all(dispatches.map((d, i) => this.compile(d, placed[i] as PlacedBinding[])));
    const steps = await device.checked(`plan ${this.label}`, () =>
      dispatches.map((d, i) =>
        this.bind(d, placed[i] as PlacedBinding[], compiled[i] as CompiledKernel, i * uniformStride, uniform),
      ),
    );
    return new Plan({
      device,
      label: this.label,
      steps,
      cuts: this.cuts,
      uniform,
      inputs: this.inputs,
      outputs: new Map([...this.outputs].map(([name, t]) => [name, { tensor: t, ...place(t) }])),
      dynamic: [...this.dynamic.values()],
      scalars: [...this.scalars],
      owned: this.owned,
      arenaBytes,
      naive: device.naivePlans,
    });
  }

  /** Allocates the arena; returns where each tensor lies. */
  private layOut(): { place: (t: Tensor) => Place; arenaBytes: number } {
    for (const [i, dispatch] of this.dispatches.entries()) {
      for (const slot of effectOf(dispatch).touches) this.touch(slot, i);
    }
    for (const slot of this.outputSlots()) this.touch(slot, this.dispatches.length);
    if (this.device.naivePlans) return this.layOutApart();
    const { pool, caps } = this.device;
    const layout = layOutArena(this.slots.map(neverUsedIsEmpty), caps.limits.offsetAlignment);
    if (layout.totalBytes > 0) this.owned.push(pool.allocate(`${this.label}.arena`, layout.totalBytes, tensorUsage));
    const arena = this.owned.at(-1) as PoolBuffer;
    const place = ({ storage, offsetBytes }: Tensor): Place =>
      storage.kind === "buffer"
        ? { buffer: storage.buffer, offset: offsetBytes }
        : { buffer: arena, offset: (layout.offsets[storage.slot] as number) + offsetBytes };
    return { place, arenaBytes: layout.totalBytes };
  }

  /** A buffer of its own for each temporary. */
  private layOutApart(): { place: (t: Tensor) => Place; arenaBytes: number } {
    const allocate = (bytes: number): PoolBuffer => this.device.pool.allocate(`${this.label}.temp`, bytes, tensorUsage);
    const buffers = this.slots.map(({ bytes }) => allocate(bytes));
    this.owned.push(...buffers);
    const place = ({ storage, offsetBytes: offset }: Tensor): Place =>
      storage.kind === "buffer"
        ? { buffer: storage.buffer, offset }
        : { buffer: buffers[storage.slot] as PoolBuffer, offset };
    return { place, arenaBytes: buffers.reduce((n, { bytes }) => n + bytes, 0) };
  }

  /** A read binding that shares its buffer with a written one of the same dispatch must be declared read_write. */
  private compile({ kernel, args }: RecordedDispatch, placed: readonly PlacedBinding[]): Promise<CompiledKernel> {
    const written = new Set(placed.filter((p) => p.access === "read_write").map((p) => p.buffer));
    const writable = placed.filter((p) => p.access === "read" && written.has(p.buffer)).map((p) => p.name);
    return this.device.pipelines.get(kernel, args.constants ?? {}, writable);
  }

  private bind(
    { kernel, args }: RecordedDispatch,
    placed: readonly PlacedBinding[],
    compiled: CompiledKernel,
    uniformOffset: number,
    uniform: PoolBuffer,
  ): PlanStep {
    const entries: GPUBindGroupEntry[] = placed.map((p) => ({
      binding: p.binding,
      resource: { buffer: p.buffer.gpu, offset: p.offset, size: p.bytes },
    }));
    const uniformSize = Math.max(4, kernel.scalars.length * 4);
    entries.push({
      binding: kernel.uniformBinding,
      resource: { buffer: uniform.gpu, offset: uniformOffset, size: alignUp(uniformSize, 16) },
    });
    this.device.counters.bindGroups++;
    const bindGroup = this.device.gpu.createBindGroup({ label: kernel.label, layout: compiled.layout, entries });
    return {
      label: kernel.label,
      pipeline: compiled.pipeline,
      bindGroup,
      uniformOffset,
      scalars: kernel.scalars.map((s) => ({ type: s.type, value: args.scalars?.[s.name] as ScalarArg })),
      workgroups: args.workgroups,
      work: args.work,
      tensors: kernel.bindings.map((b) => args.tensors[b.name] as Tensor),
    };
  }

  /** Leaves out dispatches whose results nobody uses. */
  private dropDead(): void {
    if (this.device.naivePlans) return;
    const live = liveDispatches(this.dispatches.map(effectOf), this.outputSlots());
    this.cuts = this.cuts.map((cut) => live.slice(0, cut).filter(Boolean).length);
    this.dispatches = this.dispatches.filter((_, i) => live[i]);
  }

  private outputSlots(): number[] {
    return [...this.outputs.values()].flatMap(slotOf);
  }

  private touch(index: number, at: number): void {
    const slot = this.slots[index] as Slot;
    slot.first = Math.min(slot.first, at);
    slot.last = Math.max(slot.last, at);
  }
}

function slotOf({ storage }: Tensor): number[] {
  return storage.kind === "arena" ? [storage.slot] : [];
}

function effectOf({ kernel, args }: RecordedDispatch): DispatchEffect {
  const written = kernel.bindings.filter((b) => b.access === "read_write").map((b) => args.tensors[b.name] as Tensor);
  return {
    touches: kernel.bindings.flatMap((b) => slotOf(args.tensors[b.name] as Tensor)),
    writes: written.flatMap(slotOf),
    lasting: written.some((t) => t.storage.kind === "buffer"),
  };
}

/** Where a tensor begins. */
interface Place {
  readonly buffer: PoolBuffer;
  readonly offset: number;
}

/** A binding with the memory it is bound to. */
interface PlacedBinding extends KernelBinding, Place {
  readonly bytes: number;
}

function placeArguments({ kernel, args }: RecordedDispatch, place: (t: Tensor) => Place): PlacedBinding[] {
  return kernel.bindings.map((b) => {
    const tensor = args.tensors[b.name] as Tensor;
    return { ...b, ...place(tensor), bytes: alignUp(Math.max(4, maxBytes(tensor)), 4) };
  });
}

function neverUsedIsEmpty(slot: Slot): Slot {
  return slot.last < 0 ? { bytes: 0, first: 0, last: 0 } : slot;
}

function missing(kernel: Kernel, name: string): DeviceError {
  return new DeviceError("shader", `Kernel "${kernel.label}" was dispatched without its argument "${name}".`, {
    do: "Pass every storage variable and every Dims field that the kernel uses.",
  });
}
