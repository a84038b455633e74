import type { MetricsRecord } from "../../../src/schema/studio.ts";

/** A column of metrics: null where a line has no such number. */
export function column(lines: readonly MetricsRecord[], name: string): (number | null)[] {
  return lines.map((line) => {
    const value = line[name];
    return typeof value === "number" ? value : null;
  });
}

/** True when some line has the number. */
export function has(lines: readonly MetricsRecord[], name: string): boolean {
  return lines.some((line) => typeof line[name] === "number");
}

/** Updates of the lines. */
export function stepsOf(lines: readonly MetricsRecord[]): number[] {
  return lines.map((line) => line.step as number);
}

/** The last number of a name; null when there is none. */
export function lastOf(lines: readonly MetricsRecord[], name: string): number | null {
  return column(lines, name).findLast((value) => value !== null) ?? null;
}
