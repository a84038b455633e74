/** What a device was asked to do since it was opened; buffers are counted by its pool. */
export interface DeviceCounters {
  /** Command buffers submitted. */
  submits: number;
  dispatches: number;
  /** Bind groups created. */
  bindGroups: number;
  /** Times the host waited for device memory. */
  readbacks: number;
}

/** Counters at 0. */
export function zeroCounters(): DeviceCounters {
  return { submits: 0, dispatches: 0, bindGroups: 0, readbacks: 0 };
}
