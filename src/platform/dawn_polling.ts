/** The timers of a thread, and a clock in milliseconds. */
export interface PollingScope {
  setImmediate: (callback: (...args: unknown[]) => void, ...args: unknown[]) => unknown;
  readonly setTimeout: (callback: () => void, ms: number) => unknown;
  readonly performance: { now(): number };
}

/** Milliseconds of one wait in which Dawn asks without a pause: short work is then noticed at once. */
const eagerMs = 0.3;
/** Milliseconds between two questions after that: the shortest pause that timers have. */
const pauseMs = 1;

/**
 * Lets Dawn wait at rest. While a promise of the GPU is pending, the webgpu package (0.6.2) asks for progress through
 * `setImmediate`, again right after each answer: the thread that waits keeps a processor busy, which on a software adapter
 * is taken from the computation (a third of a training step on two cores, test/bench/LOG.md). Here its questions come a
 * millisecond apart once a wait is longer than a moment; everybody else's `setImmediate` stays as it is. Call it before
 * the GPU is opened. To be deleted when the package waits without asking.
 */
export function restDawnPolling(scope: PollingScope): void {
  const { setImmediate: immediately, setTimeout: later, performance } = scope;
  /** When the present wait began; null between waits. */
  let since: number | null = null;
  let asked = false;
  scope.setImmediate = (callback, ...args) => {
    if (args.length > 0 || !isNativeCallback(callback)) return immediately.call(scope, callback, ...args);
    since ??= performance.now();
    asked = true;
    const ask = (): void => {
      asked = false;
      try {
        callback();
      } finally {
        // Dawn asks again from within its callback for as long as anything is pending.
        if (!asked) since = null;
      }
    };
    return performance.now() - since < eagerMs ? immediately.call(scope, ask) : later.call(scope, ask, pauseMs);
  };
}

/** True for what Dawn passes: a native function without name or parameters; what resolves a promise has a parameter. */
function isNativeCallback(callback: (...args: unknown[]) => void): boolean {
  if (typeof callback !== "function" || callback.name !== "" || callback.length !== 0) return false;
  return /^function \(\) \{ \[native code\] \}$/.test(Function.prototype.toString.call(callback));
}
