import { ConfigError } from "../core/errors.ts";
import type { Store } from "../schema/store.ts";
import { StoreError } from "../schema/store_error.ts";

/** Faults a store can produce on demand, so that their handling can be tested and shown. */
export type StoreFault =
  /** Every write fails as on a full disk. */
  | { readonly kind: "disk-full" }
  /** The process ends at once, without warning, when the write number `appends` is acknowledged. */
  | { readonly kind: "kill-after-append"; readonly appends: number };

/** Reads the store's faults out of LEYDEN_FAULT's list; those of other parts are passed over. */
export function parseStoreFaults(text: string | undefined): StoreFault[] {
  return (text ?? "").split(",").flatMap((part): StoreFault[] => {
    const fault = part.trim();
    if (fault === "disk-full") return [{ kind: "disk-full" }];
    const kill = /^kill-after-append:(.*)$/.exec(fault);
    if (!kill) return [];
    const appends = Number(kill[1]);
    if (Number.isInteger(appends) && appends > 0) return [{ kind: "kill-after-append", appends }];
    throw new ConfigError(`LEYDEN_FAULT has "${fault}".`, { do: "Write kill-after-append:N with N from 1." });
  });
}

/** The store with these faults; `kill` ends the process. */
export function withStoreFaults(store: Store, faults: readonly StoreFault[], kill: () => void): Store {
  if (faults.length === 0) return store;
  let appends = 0;
  const append = store.append.bind(store);
  store.append = async (events) => {
    if (faults.some(({ kind }) => kind === "disk-full")) {
      const advice = "The disk is full; free some space, then resume.";
      throw new StoreError("store_write", "The store could not write: database or disk is full.", advice);
    }
    const seq = await append(events);
    appends++;
    if (faults.some((fault) => fault.kind === "kill-after-append" && fault.appends === appends)) kill();
    return seq;
  };
  return store;
}
