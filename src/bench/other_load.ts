import type { Clock } from "../core/clock.ts";
import { FormatError } from "../core/errors.ts";
import type { Files } from "../schema/files.ts";

/** Linux counts processor time in hundredths of a second, whatever the kernel's own tick is. */
const tickMs = 10;

/** Milliseconds all processors were busy since the start, of /proc/stat: user, nice, system, irq, softirq, steal. */
export function busyMs(stat: string): number {
  const fields = /^cpu +([\d ]+)$/m.exec(stat)?.[1]?.split(" ").map(Number) ?? [];
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = fields;
  return tickMs * (user + nice + system + irq + softirq + steal);
}

/** Processor milliseconds a process has used, of /proc/PID/stat: fields 14 and 15 (its name may hold anything). */
export function processMs(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return tickMs * (Number(fields[11] ?? 0) + Number(fields[12] ?? 0));
}

/** What other processes use of the machine while something is measured. */
export class OtherLoad {
  private readonly files: Files;
  private readonly clock: Clock;
  private readonly pids: readonly (number | "self")[];
  private start: { at: number; busy: number; own: number } | null = null;

  /** `pids`: the processes that measure, which are left out. */
  constructor(files: Files, clock: Clock, pids: readonly (number | "self")[]) {
    this.files = files;
    this.clock = clock;
    this.pids = pids;
  }

  /** Begins a stretch of time. */
  async begin(): Promise<void> {
    this.start = await this.read();
  }

  /** Cores that others used since `begin`, on average; null where there is no /proc. */
  async end(): Promise<number | null> {
    const [start, now] = [this.start, await this.read()];
    if (start === null || now === null) return null;
    const others = now.busy - start.busy - (now.own - start.own);
    return Math.max(0, others / Math.max(1, now.at - start.at));
  }

  private async read(): Promise<{ at: number; busy: number; own: number } | null> {
    try {
      const busy = busyMs(await this.files.readText("/proc/stat"));
      const own = await Promise.all(this.pids.map((pid) => this.files.readText(`/proc/${pid}/stat`)));
      return { at: this.clock.monotonic(), busy, own: own.reduce((sum, stat) => sum + processMs(stat), 0) };
    } catch (thrown) {
      if (thrown instanceof FormatError && thrown.code === "file_missing") return null;
      throw thrown;
    }
  }
}
