import { EnvironmentError } from "../../core/errors.ts";

/** Name of the lock that the one tab with the store holds. */
const lockName = "leyden-tab";

/**
 * Makes this tab the one that owns the origin's store until its worker ends; a reload's old worker gets a moment to go. A
 * page whose browser knows no locks shares no storage either.
 * @throws EnvironmentError "second_tab" when another tab owns it
 */
export async function takeTabLock(waitMs = 3_000): Promise<void> {
  const { locks } = navigator;
  if (locks === undefined) return;
  await new Promise<void>((resolve, reject) => {
    const hold = (): Promise<never> => {
      resolve();
      return new Promise(() => {});
    };
    locks.request(lockName, { signal: AbortSignal.timeout(waitMs) }, hold).catch((thrown: unknown) => {
      const { name } = thrown as DOMException;
      // A page opened from a disk: nobody else has its storage.
      if (name === "SecurityError" || name === "InvalidStateError") resolve();
      else reject(secondTab());
    });
  });
}

function secondTab(): EnvironmentError {
  return new EnvironmentError("second_tab", "Another tab of this page is open and has the model and the store.", {
    do: "Use that tab, or close it and reload this one.",
  });
}
