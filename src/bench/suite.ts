import type { Clock } from "../core/clock.ts";
import type { Device } from "../gpu/device.ts";
import type { HostPlatform } from "../schema/platform.ts";

/** A value of a measurement's facts; objects hold what belongs together, such as a configuration. */
export type FactValue = number | string | boolean | null | { readonly [name: string]: FactValue };

/** Repeated timings of one thing. */
export interface Measurement {
  /** Stable, so that results of different commits can be compared: matmul_512_nn. */
  readonly name: string;
  /** Milliseconds of each repeat. */
  readonly samples: readonly number[];
  /** What the time was spent on, and what follows from it: sizes, rates. */
  readonly facts: Readonly<Record<string, FactValue>>;
}

/** What a suite measures with. */
export interface BenchContext {
  /** A device of the suite's own, which it closes. */
  openDevice(): Promise<Device>;
  readonly clock: Clock;
  /** Samples of each measurement, after what warms it up. */
  readonly repeats: number;
  /** Of --seconds: how long a suite of a steady load runs. */
  readonly seconds: number;
  /** Of --only: work or libraries that a suite with a choice is restricted to; empty means all. */
  readonly only: readonly string[];
  /** Of --profile: whether a suite that can also measures each kernel on its own. */
  readonly profile: boolean;
  /** Of --tune: whether a suite that can chooses kernels for this adapter instead. */
  readonly tune: boolean;
  readonly platform: HostPlatform;
  /** Of --state: folder where a long suite keeps what it has measured, and finds it again; null for none. */
  readonly state: string | null;
  /** Says something about the run that is no measurement. */
  note(line: string): void;
}

/** A group of measurements. */
export interface Suite {
  readonly name: string;
  /** One line: what is measured. */
  readonly summary: string;
  /** What --only may name. */
  readonly choices?: readonly string[];
  run(context: BenchContext): AsyncIterable<Measurement>;
}

/** Median, least and greatest of some numbers; the median of an even count is the mean of the middle two. */
export interface SampleSummary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly n: number;
}

/** Summary of at least one sample. */
export function summarizeSamples(samples: readonly number[]): SampleSummary {
  const sorted = [...samples].sort((a, b) => a - b);
  const at = (i: number): number => sorted[i] as number;
  const n = sorted.length;
  return { median: (at((n - 1) >> 1) + at(n >> 1)) / 2, min: at(0), max: at(n - 1), n };
}
