import type { Capabilities } from "./capabilities.ts";
import { Device } from "./device.ts";

/**
 * A device that holds nothing and computes nothing, whose pool counts all the same: what is allocated and recorded on it
 * takes the bytes that it would take on a device of these capabilities. Plans are measured on it, never built.
 */
export function countingDevice(caps: Capabilities): Device {
  const gpu = {
    lost: new Promise<never>(() => {}),
    addEventListener(): void {},
    createBuffer: () => ({ destroy(): void {} }),
    destroy(): void {},
    queue: { writeBuffer(): void {} },
  };
  return new Device(gpu as unknown as GPUDevice, caps);
}
