/** What one dispatch does, by the sizes of a replay. */
export interface DispatchWork {
  /** Floating-point operations; a fused multiply-add counts as two. */
  readonly flops: number;
  /** Text of its sizes, such as "NT 1024x256x512". */
  readonly shape: string;
}

/** One dispatch of a profiled replay. */
export interface ProfiledDispatch extends DispatchWork {
  /** The kernel's. */
  readonly label: string;
  /** From its submit until the queue was idle; includes what a submit costs. */
  readonly ms: number;
  /** Bytes of all tensors bound to it, each counted once: what it moves at least when it uses all of them. */
  readonly bytes: number;
}

/**
 * Set on a device, it has `Plan.run` submit every dispatch on its own and wait for it. Results stay the same; the whole
 * takes longer by a submit per dispatch.
 */
export interface Profiler {
  nowMs(): number;
  record(dispatch: ProfiledDispatch): void;
}

/** All dispatches of one kernel and shape in a profile. */
export interface ProfileEntry {
  readonly label: string;
  readonly shape: string;
  readonly count: number;
  readonly ms: number;
  readonly flops: number;
  readonly bytes: number;
}

/** Dispatches of the same kernel and shape added up, those that took longest first. */
export function summarizeProfile(dispatches: readonly ProfiledDispatch[]): ProfileEntry[] {
  const entries = new Map<string, ProfileEntry>();
  for (const { label, shape, ms, flops, bytes } of dispatches) {
    const key = `${label} ${shape}`;
    const sum = entries.get(key) ?? { label, shape, count: 0, ms: 0, flops: 0, bytes: 0 };
    entries.set(key, {
      ...sum,
      count: sum.count + 1,
      ms: sum.ms + ms,
      flops: sum.flops + flops,
      bytes: sum.bytes + bytes,
    });
  }
  return [...entries.values()].sort((a, b) => b.ms - a.ms);
}
