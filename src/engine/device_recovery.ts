import type { Clock } from "../core/clock.ts";
import { asLeydenError, DeviceError } from "../core/errors.ts";
import type { EngineParts } from "./engine_parts.ts";

/** Device losses in a row, without one finished action between them, after which the engine gives up. */
const maxLossesInARow = 3;

/** Milliseconds before each try to open another device: a driver, or a browser's GPU process, takes its time to return. */
const pausesMs = [0, 1_000, 3_000, 9_000];

/** Opens another device after one was lost. */
export class DeviceRecovery {
  /** Losses so far. */
  losses = 0;
  private inARow = 0;
  private readonly open: () => Promise<EngineParts>;
  private readonly clock: Clock;

  /** `open` opens another device with the model in its present state. */
  constructor(deps: { open: () => Promise<EngineParts>; clock: Clock }) {
    this.open = deps.open;
    this.clock = deps.clock;
  }

  /** Something was done on the device: it is of use. */
  worked(): void {
    this.inARow = 0;
  }

  /**
   * The model on a device that replaces the lost one; nobody waits for it any more once `signal` fires.
   * @throws DeviceError "device_lost" when each one is lost at once, or none can be opened; CancelledError
   */
  async reopen(loss: DeviceError, signal: AbortSignal): Promise<EngineParts> {
    this.losses++;
    if (++this.inARow > maxLossesInARow) throw lostForGood(loss, `It was lost ${this.inARow} times in a row.`, loss);
    let failure: unknown = null;
    for (const pauseMs of pausesMs) {
      if (pauseMs > 0) await this.clock.sleep(pauseMs, signal);
      try {
        return await this.open();
      } catch (thrown) {
        failure = thrown;
      }
    }
    throw lostForGood(loss, `No other could be opened: ${asLeydenError(failure).message}`, failure);
  }
}

function lostForGood(loss: DeviceError, why: string, cause: unknown): DeviceError {
  return new DeviceError("device_lost", `${loss.message} ${why}`, {
    do: "Close what else uses the device or start the program or browser again, then resume from the last checkpoint.",
    cause,
  });
}
