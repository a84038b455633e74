// The browser globals that the libraries look for. Node has no WebGPU of its own: it gets the Dawn that Leyden uses.

/** Must be done before a library is imported. */
export async function provideWebGpu() {
  globalThis.self ??= globalThis;
  if (globalThis.navigator?.gpu !== undefined) return;
  const { create, globals } = await import("webgpu");
  Object.assign(globalThis, globals);
  // Held for good: Dawn ends the process when its object is collected.
  const value = create([]);
  Object.defineProperty(globalThis.navigator, "gpu", { value, configurable: true });
}
