import { ConfigError, DeviceError } from "../core/errors.ts";

/** Faults the engine can produce on demand, so that their handling can be tested and shown. */
export type EngineFault =
  /** The device is lost while update `update` (1 = first) runs. */
  | { readonly kind: "device-lost"; readonly update: number }
  /** Update `update` meets a gradient that is not a number. */
  | { readonly kind: "nan-grad"; readonly update: number };

/** Faults of other parts, written in the same list and passed over here. */
const elsewhere = /^(oom|disk-full|kill-after-append:\d+)$/;

/**
 * Reads LEYDEN_FAULT: `device-lost@update:3`, `nan-grad@2`; several are separated by commas.
 * @throws ConfigError on any other text.
 */
export function parseEngineFaults(text: string | undefined): EngineFault[] {
  const faults: EngineFault[] = [];
  for (const part of (text ?? "").split(",").map((s) => s.trim())) {
    if (part === "" || elsewhere.test(part)) continue;
    const lost = /^device-lost@update:(\d+)$/.exec(part);
    const nan = /^nan-grad@(\d+)$/.exec(part);
    if (lost !== null) faults.push({ kind: "device-lost", update: Number(lost[1]) });
    else if (nan !== null) faults.push({ kind: "nan-grad", update: Number(nan[1]) });
    else {
      throw new ConfigError(`LEYDEN_FAULT has "${part}", which names no fault.`, {
        do: "Write device-lost@update:N, nan-grad@N, oom, disk-full or kill-after-append:N.",
      });
    }
  }
  return faults;
}

/** Faults still to come; each happens once, although an update lost with its device is tried again. */
export class PendingFaults {
  private readonly faults: EngineFault[];

  constructor(faults: readonly EngineFault[]) {
    this.faults = [...faults];
  }

  /** The fault asked for at this update (1 = first), or undefined. */
  take(update: number): EngineFault["kind"] | undefined {
    const at = this.faults.findIndex((fault) => fault.update === update);
    return at < 0 ? undefined : this.faults.splice(at, 1)[0]?.kind;
  }
}

/** True for the error of a device that is gone, asked for or real. */
export function isLoss(thrown: unknown): thrown is DeviceError {
  return thrown instanceof DeviceError && thrown.code === "device_lost";
}
