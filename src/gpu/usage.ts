/** GPUBufferUsage bits, spelled out because Node has no such global. Source: WebGPU specification, section 5.1. */
export const usage = {
  mapRead: 0x0001,
  mapWrite: 0x0002,
  copySrc: 0x0004,
  copyDst: 0x0008,
  uniform: 0x0040,
  storage: 0x0080,
} as const;

/** Usage of every tensor buffer: bound as storage, written from the host, read back. */
export const tensorUsage: number = usage.storage | usage.copySrc | usage.copyDst;
