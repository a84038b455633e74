// The browser globals that the libraries look for. Node has no WebGPU of its own: it gets the Dawn that Leyden uses, which
// waits at rest for them too, so that libraries are compared and not how they wait.
import { restDawnPolling } from "../../../src/platform/dawn_polling.ts";

/** Must be done before a library is imported. */
export async function provideWebGpu() {
  globalThis.self ??= globalThis;
  if (globalThis.navigator?.gpu !== undefined) return;
  const { create, globals } = await import("webgpu");
  Object.assign(globalThis, globals);
  // Held for good: Dawn ends the process when its object is collected.
  restDawnPolling(globalThis);
  const value = create([]);
  Object.defineProperty(globalThis.navigator, "gpu", { value, configurable: true });
}
