/** Where a program that is a script leaves the promise of its end. */
const place = "leydenProgram";

/** A module that imports and exports nothing, as the text of a classic script with the same effect. */
export function scriptProgram(moduleText: string): string {
  return `globalThis.${place} = (async function () {"use strict";\n${moduleText}\n})();`;
}

/**
 * Runs a script that `scriptProgram` made, in a classic worker; resolves when it has been evaluated. Its address is made
 * here: from a disk every worker is an origin of its own, which reads no other's blobs.
 */
export function runScriptProgram(script: Blob): Promise<unknown> {
  const address = URL.createObjectURL(script);
  (globalThis as unknown as { importScripts(script: string): void }).importScripts(address);
  URL.revokeObjectURL(address);
  return (globalThis as unknown as Record<typeof place, Promise<unknown>>)[place];
}
