import { DeviceError } from "../core/errors.ts";

/** One storage binding of a kernel as its WGSL declares it. */
export interface KernelBinding {
  readonly name: string;
  readonly binding: number;
  readonly access: "read" | "read_write";
}

/** One scalar of a kernel's uniform struct Dims, 4 bytes at 4 * its index. */
export interface KernelScalar {
  readonly name: string;
  readonly type: "u32" | "i32" | "f32";
}

/** An entry point of a WGSL module with the bindings it uses. Arguments are passed by the names in the shader. */
export interface Kernel {
  readonly label: string;
  readonly code: string;
  readonly entry: string;
  readonly bindings: readonly KernelBinding[];
  readonly scalars: readonly KernelScalar[];
  readonly uniformBinding: number;
}

const storagePattern = /@group\(0\)\s*@binding\((\d+)\)\s*var<storage,\s*(read|read_write)>\s*(\w+)\s*:/g;
const uniformPattern = /@group\(0\)\s*@binding\((\d+)\)\s*var<uniform>\s*\w+\s*:\s*Dims\s*;/;
const structPattern = /struct\s+Dims\s*\{([^}]*)\}/;

function parseScalars(code: string): KernelScalar[] {
  const body = structPattern.exec(code)?.[1] ?? "";
  const fields = [...body.matchAll(/(\w+)\s*:\s*(u32|i32|f32)/g)];
  return fields.map((m) => ({ name: m[1] as string, type: m[2] as KernelScalar["type"] }));
}

/**
 * Describes an entry point. `uses` lists the storage variables it touches (all of the module's when left out).
 * @throws DeviceError "shader" when the module does not declare one of them, or no `struct Dims` uniform.
 */
export function kernel(label: string, code: string, entry: string, uses?: readonly string[]): Kernel {
  const declared = [...code.matchAll(storagePattern)].map((m) => ({
    binding: Number(m[1]),
    access: m[2] as KernelBinding["access"],
    name: m[3] as string,
  }));
  const bindings = uses === undefined ? declared : uses.map((name) => declared.find((d) => d.name === name));
  const uniform = uniformPattern.exec(code);
  if (bindings.includes(undefined) || uniform === null) {
    throw new DeviceError("shader", `Kernel "${label}" names a binding that its WGSL does not declare.`, {
      do: "Make the list of bindings match the module's `var<storage, …>` lines and declare `var<uniform> …: Dims`.",
    });
  }
  return {
    label: `${label}.${entry}`,
    code,
    entry,
    bindings: bindings as KernelBinding[],
    scalars: parseScalars(code),
    uniformBinding: Number(uniform[1]),
  };
}

/** The module's text with the named storage variables declared read_write (needed when they share a buffer). */
export function withWritable(code: string, names: readonly string[]): string {
  return code.replace(storagePattern, (text, _binding, access: string, name: string) =>
    access === "read" && names.includes(name) ? text.replace("storage, read>", "storage, read_write>") : text,
  );
}
